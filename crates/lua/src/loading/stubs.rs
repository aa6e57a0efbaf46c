//! Stubs for editors: LuaLS annotations of everything that a plan can call. lgoose itself only writes them to files
//! (`lgoose new`); the tests compare them with the installed functions.

/// The stubs, each with its path below the folder of an editor's library and its text.
pub const STUBS: [(&str, &str); 22] = [
    ("plan.lua", include_str!("../../lua/meta/plan.lua")),
    ("user.lua", include_str!("../../lua/meta/user.lua")),
    ("options.lua", include_str!("../../lua/meta/options.lua")),
    ("response.lua", include_str!("../../lua/meta/response.lua")),
    ("stream.lua", include_str!("../../lua/meta/stream.lua")),
    ("socket.lua", include_str!("../../lua/meta/socket.lua")),
    ("net.lua", include_str!("../../lua/meta/net.lua")),
    ("grpc.lua", include_str!("../../lua/meta/grpc.lua")),
    (
        "libraries.lua",
        include_str!("../../lua/meta/libraries.lua"),
    ),
    ("lgoose/aws.lua", include_str!("../../lua/lgoose/aws.lua")),
    (
        "lgoose/drupal.lua",
        include_str!("../../lua/lgoose/drupal.lua"),
    ),
    ("lgoose/fake.lua", include_str!("../../lua/lgoose/fake.lua")),
    (
        "lgoose/graphql_ws.lua",
        include_str!("../../lua/lgoose/graphql_ws.lua"),
    ),
    ("lgoose/jwt.lua", include_str!("../../lua/lgoose/jwt.lua")),
    ("lgoose/llm.lua", include_str!("../../lua/lgoose/llm.lua")),
    ("lgoose/mqtt.lua", include_str!("../../lua/lgoose/mqtt.lua")),
    (
        "lgoose/postgres.lua",
        include_str!("../../lua/lgoose/postgres.lua"),
    ),
    (
        "lgoose/redis.lua",
        include_str!("../../lua/lgoose/redis.lua"),
    ),
    (
        "lgoose/shared.lua",
        include_str!("../../lua/lgoose/shared.lua"),
    ),
    ("lgoose/smtp.lua", include_str!("../../lua/lgoose/smtp.lua")),
    (
        "lgoose/socketio.lua",
        include_str!("../../lua/lgoose/socketio.lua"),
    ),
    ("lgoose/totp.lua", include_str!("../../lua/lgoose/totp.lua")),
];

#[cfg(test)]
mod tests {
    use super::super::declare;
    use super::super::load::load;
    use super::super::scenario_fields::scenario_fields;
    use super::STUBS;
    use crate::api::members::Member;
    use crate::api::{RESPONSE, USER_MEMBERS, members, start_prelude};
    use crate::fixture::unanswered;
    use crate::hooks::HookRequest;
    use crate::limits::VmLimits;
    use crate::plan_files::{BUILT_IN, compile};
    use crate::requests::fields;
    use crate::sandbox::{self, VmHost};
    use crate::values::DisplayText;
    use lgoose_plan::config::{Settings, THRESHOLD_OPTIONS};
    use mlua::{Lua, Table, Value};
    use std::collections::{BTreeMap, BTreeSet};
    use std::rc::Rc;
    use std::time::Duration;

    /// Returns the names that the stubs describe: `global`, `library.member`, `lgoose.Class.member`.
    fn described() -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (_, text) in STUBS
            .iter()
            .filter(|(path, _)| !path.starts_with("lgoose/"))
        {
            let mut owners = BTreeMap::new();
            let mut class = "";
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("---@class ") {
                    class = rest.split(':').next().unwrap_or(rest).trim();
                    // 'lgoose.json' is the type of the global 'json'.
                    if let Some(library) = class.strip_prefix("lgoose.")
                        && library.starts_with(char::is_lowercase)
                    {
                        class = library;
                    }
                } else if let Some(field) = line.strip_prefix("---@field ") {
                    let field = field.split([' ', '?']).next().unwrap_or(field);
                    // A class in lower case is a library, known by its own name.
                    let library = class
                        .strip_prefix("lgoose.")
                        .filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()));
                    if !field.starts_with('[') {
                        let owner = library.unwrap_or(class);
                        names.insert(format!("{owner}.{field}"));
                    }
                } else if let Some(function) = line.strip_prefix("function ") {
                    let function = function.split('(').next().unwrap_or(function);
                    names.insert(match function.split_once([':', '.']) {
                        Some((owner, name)) => format!("{}.{name}", owners[owner]),
                        None => function.to_owned(),
                    });
                } else if let Some((variable, _)) = line.split_once(" = ")
                    && !line.starts_with("--")
                {
                    match variable.strip_prefix("local ") {
                        Some(variable) => owners.insert(variable, class.to_owned()),
                        None => {
                            names.insert(variable.to_owned());
                            owners.insert(variable, variable.to_owned())
                        }
                    };
                }
            }
        }
        names
    }

    /// Returns the names that Rust and the prelude install. `described` helps to find those that can be looked up but
    /// not listed.
    fn installed(described: &BTreeSet<String>) -> mlua::Result<BTreeSet<String>> {
        let (program, ..) = load("p.lua", "task { function() end }", BTreeMap::new(), 0)
            .expect("the smallest plan is fine");
        let lua: Lua = sandbox::new_state()?;
        lua.set_app_data(Rc::new(VmHost::new(
            program.clone(),
            0,
            "",
            None,
            VmLimits::new(Duration::from_secs(1), 64 << 20, None),
        )));
        let user = lua.create_table()?;
        start_prelude(&lua, &program, user.clone())?;
        let mut names: BTreeSet<String> =
            ["plan", "scenario", "task", "on"].map(str::to_owned).into();
        // Lua's own globals need no stub of ours.
        let globals = members::GLOBALS.iter().filter(|name| **name != "coroutine");
        let documented = described.iter().map(String::as_str);
        for name in globals
            .copied()
            .chain(documented.filter(|name| !name.contains('.')))
        {
            let found = members::global(&lua, name)?;
            if !found.is_missing() {
                names.insert(name.to_owned());
            }
            if let Member::Value(Value::Table(library)) = found {
                names.extend(members_of(name, &library));
            }
        }
        names.extend(members_of("lgoose.User", &user));
        for name in described
            .iter()
            .filter_map(|name| name.strip_prefix("lgoose.User."))
        {
            if !members::user_value(&lua, name)?.is_missing() {
                names.insert(format!("lgoose.User.{name}"));
            }
        }
        for member in USER_MEMBERS {
            names.insert(format!("lgoose.User.{}", member.name));
            if let Some(options) = &member.options {
                let class = class_of_options(member.name, options.place);
                let own = options.names.last().copied().unwrap_or_default();
                names.extend(own.iter().map(|option| format!("{class}.{option}")));
            }
        }
        let response = [RESPONSE.fields, RESPONSE.methods].concat();
        for (class, members) in [
            ("lgoose.Response", &response[..]),
            ("lgoose.Expect", &fields::EXPECT),
            ("lgoose.Plan", Settings::FIELDS),
            ("lgoose.Threshold", &THRESHOLD_OPTIONS),
            ("lgoose.Scenario", &scenario_fields()),
            ("lgoose.Task", &declare::TASK_FIELDS),
            ("lgoose.Bearer", &fields::BEARER),
            ("lgoose.Credentials", &fields::DIGEST),
            ("lgoose.Part", &fields::PART),
            ("lgoose.GrpcExpect", &fields::GRPC_EXPECT),
            ("lgoose.GrpcLoad", &members::LOAD_OPTIONS),
            ("lgoose.CallOptions", &["timeout", "deadline"]),
            ("lgoose.CallSendOptions", &["compress"]),
            ("lgoose.ReceiveOptions", &["timeout", "match", "deadline"]),
            ("lgoose.AskOptions", &["name"]),
            ("lgoose.NetReceiveOptions", &fields::RECEIVE_OPTIONS),
            ("lgoose.SendOptions", &["timeout"]),
            ("lgoose.StartTlsOptions", &["server_name", "timeout"]),
            ("lgoose.TransactionOptions", &fields::TRANSACTION),
            ("lgoose.Cookie", &members::COOKIE),
            ("lgoose.CookieScope", &members::SCOPE),
            // Read in Lua.
            ("lgoose.Retry", &["times", "wait"]),
            ("lgoose.DataOptions", &members::DATA_OPTIONS),
            ("lgoose.LinesOptions", &members::LINES_OPTIONS),
            ("lgoose.CsvOptions", &members::CSV_OPTIONS),
            ("lgoose.MessageOptions", &members::MESSAGE_OPTIONS),
        ] {
            names.extend(members.iter().map(|member| format!("{class}.{member}")));
        }
        let nothing = lua.create_function(|_, ()| Ok(()))?;
        for (class, members) in members::classes(nothing) {
            names.extend(members.iter().map(|member| format!("{class}.{member}")));
        }
        for (class, table) in returned(&lua)? {
            names.extend(members_of(class, &table));
        }
        Ok(names)
    }

    /// Returns the class of the options of a method of `user`, which are its argument at that place.
    fn class_of_options(method: &str, place: usize) -> String {
        let stub = include_str!("../../lua/meta/user.lua");
        let before = stub.split(&format!("\nfunction User:{method}(")).next();
        let annotations = before.and_then(|before| before.rsplit("\n\n").next());
        let parameters = annotations.map(|lines| lines.lines());
        let mut parameters = parameters
            .into_iter()
            .flatten()
            .filter_map(|line| line.strip_prefix("---@param "));
        let class = parameters
            .nth(place)
            .and_then(|line| line.split(' ').nth(1));
        class.expect("the stub names it").to_owned()
    }

    /// Returns a table of each class that is a plain table.
    fn returned(lua: &Lua) -> mlua::Result<[(&'static str, Table); 6]> {
        let slot = VmHost::of(lua)
            .responses
            .borrow_mut()
            .insert_one(unanswered());
        let timings = members::field(lua, (slot as i64, DisplayText("timings".to_owned())))?;
        let timings = timings.as_table().cloned().expect("a table of seconds");
        let find = "local html, wait = ... return html.parse('<meta name=referrer content=origin><form accept-charset=latin1><input name=b required><button name=a formnovalidate>', 'http://a/'):form(), wait.constant(1)";
        let libraries = (
            members::global_value(lua, "html")?,
            members::global_value(lua, "wait")?,
        );
        let (form, wait): (Table, Table) = lua.load(find).call(libraries)?;
        let button: Table = form.raw_get::<Table>("buttons")?.raw_get(1)?;
        for attribute in ["action", "method", "enctype", "image"] {
            button.raw_set(attribute, "as the page says")?;
        }
        let counted = HookRequest {
            error: Some("it failed"),
            ..HookRequest::default()
        };
        Ok([
            ("lgoose.CountedRequest", counted.facts(lua)?),
            ("lgoose.Timings", timings),
            ("lgoose.Form", form),
            ("lgoose.Button", button),
            ("lgoose.WaitRule", wait),
            ("lgoose.Cookies", members::cookies(lua)?),
        ])
    }

    fn members_of(owner: &str, table: &Table) -> Vec<String> {
        let names = table.pairs::<String, Value>().filter_map(Result::ok);
        let plain = names.filter(|(name, _)| name.starts_with(char::is_alphabetic));
        plain.map(|(name, _)| format!("{owner}.{name}")).collect()
    }

    #[test]
    fn the_stubs_describe_what_is_installed_and_nothing_else() {
        let described = described();
        let installed = installed(&described).expect("the prelude runs");
        let missing: Vec<_> = installed.difference(&described).collect();
        assert!(missing.is_empty(), "describe in lua/meta: {missing:?}");
        let unknown: Vec<_> = described.difference(&installed).collect();
        assert!(unknown.is_empty(), "described, not installed: {unknown:?}");
    }

    #[test]
    fn every_stub_is_lua_and_every_module_of_ours_is_handed_out() {
        for (path, text) in STUBS {
            compile(&format!("@{path}"), text, true).expect("it compiles");
            assert!(
                path.contains('/') || text.starts_with("---@meta\n"),
                "{path}"
            );
        }
        for (name, text) in BUILT_IN {
            let path = format!("{}.lua", name.replace('.', "/"));
            assert!(STUBS.contains(&(path.as_str(), text)), "{path}");
        }
    }
}
