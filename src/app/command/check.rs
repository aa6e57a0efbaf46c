//! `lgoose check`: loads a plan, reviews it, and shows the run that it would make. It sends nothing.

use super::flags;
use super::screen::{print_text, warn};
use crate::app::{loading, places, prepare};
use crate::cli;
use lgoose_base::error::{Diagnostic, Error, exit, one_line};
use lgoose_base::files::{DataMemory, FileUse};
use lgoose_base::units::{counted, show_size};
use lgoose_lua::{Program, VariableDefault};
use lgoose_plan::Plan;
use lgoose_plan::config::{Config, SettingFile, Settings};
use std::collections::BTreeSet;
use url::Url;

/// Checks a plan with the options that the flags set. Returns the exit code.
///
/// # Errors
/// A mistake in the plan, in its options or in a flag, or a warning where none is accepted.
pub(super) fn check(flags: &cli::CheckArgs) -> Result<u8, Error> {
    let folder = flags::plan_folder(&flags.plan, flags.allow_files);
    let flags::PlanText { name, source, .. } = flags::read_file(&flags.plan, &folder, false)?;
    let variables = flags::read_variables(flags.env_file.as_deref(), &flags.env, None)?;
    let memory = loading::MemoryLimits {
        process: None,
        data: flags.data_memory,
    };
    let (program, mut plan, mut settings) =
        loading::load(&name, &source, variables, Some(0), 0, &folder, memory)?;
    lgoose_plan::leave_out_unweighted(&mut plan)?;
    let mut typed = Settings {
        host: flags.host.clone(),
        users: flags.users,
        ..Settings::default()
    };
    if let Some(host) = &typed.host {
        prepare::check_host(host)?;
    }
    places::contain_plan_files(&program, &mut settings, &mut typed, &folder)?;
    let touched =
        describe_files(&program, &mut settings) + &describe_hosts(&program, &plan, &settings);
    prepare::check_hosts_of_plan(&program, &plan, &settings, &typed)?;
    let settings = typed.over(settings);
    let load = settings.load.as_ref().map_or_else(String::new, |load| {
        format!("\n{}\n", load.outline(settings.run_time))
    });
    let host_path = settings.host.as_deref().and_then(describe_host_path);
    let mut warnings =
        lgoose_lua::review(&program, &plan, settings.request_names.unwrap_or_default());
    let settings = prepare::with_fixed_users(settings, &plan);
    let config = Config::new(settings.clone(), 1, 0)?.run;
    prepare::fitting_loads(&program, &plan, &config)?;
    if settings.has_load() && settings.rate.is_none() {
        let lanes = plan.lanes(config.users);
        let idle = plan.idle_scenarios(&lanes, &config);
        warnings.extend(idle.map(Diagnostic::new));
    }
    let ambiguous = plan.ambiguous_thresholds(&settings.thresholds.unwrap_or_default());
    warnings.extend(ambiguous.into_iter().map(Diagnostic::new));
    let but = match warnings.len() {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        n => format!(", with {n} warnings"),
    };
    let variable_list = describe_variables(&program);
    print_text(&format!(
        "{name} is fine{but}\n\n{}{load}{variable_list}{touched}{}{}",
        lgoose_plan::outline(&plan),
        describe_data(program.data_memory()),
        host_path.unwrap_or_default()
    ))?;
    for warning in &warnings {
        warn(warning);
    }
    if flags.deny_warnings && !warnings.is_empty() {
        let warnings = counted(warnings.len() as u64, "warning");
        let denied = format!("{name} has {warnings}, and '--deny-warnings' accepts none");
        return Err(Diagnostic::new(denied).into());
    }
    Ok(exit::OK)
}

/// Lists the files that a plan reads while it is loaded, and those of its settings.
fn describe_files(program: &Program, settings: &mut Settings) -> String {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    // The first one is the plan.
    read.extend(
        program
            .files()
            .iter()
            .skip(1)
            .map(|file| one_line(&file.display().to_string())),
    );
    for SettingFile { usage, file, .. } in settings.files() {
        match usage {
            FileUse::Read => read.insert(one_line(&file.to_string())),
            FileUse::Write => written.insert(one_line(&file.to_string())),
        };
    }
    list("files that it reads", read) + &list("files that it writes", written)
}

/// Returns a line with names after their label; nothing without any.
fn list(label: &str, names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().collect();
    match &names[..] {
        [] => String::new(),
        names => format!("\n{label}: {}", names.join(", ")),
    }
}

/// Lists the hosts that a plan names, in its settings and in its text.
fn describe_hosts(program: &Program, plan: &Plan, settings: &Settings) -> String {
    let of_scenarios = plan
        .scenarios
        .iter()
        .map(|scenario| scenario.host.as_deref());
    let bases = of_scenarios.chain([settings.host.as_deref()]).flatten();
    let mut hosts = lgoose_lua::named_hosts(program);
    hosts.extend(bases.filter_map(|base| {
        if lgoose_http::is_unix_socket(base) {
            return Some(base.to_owned());
        }
        let base = Url::parse(base).ok()?;
        let port = base
            .port()
            .map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{}{port}", base.host_str()?))
    }));
    list(
        "hosts that it names",
        hosts.iter().map(|host| one_line(host)),
    )
}

/// Lists the variables that a plan reads, and which of them are not set or have their defaults.
fn describe_variables(program: &Program) -> String {
    let names = lgoose_lua::requested_variables(program);
    let (mut unset, mut defaults) = (Vec::new(), Vec::new());
    for name in names
        .iter()
        .filter(|name| !lgoose_lua::is_set(program, name))
    {
        match lgoose_lua::default_of(program, name) {
            VariableDefault::None => unset.push(name.clone()),
            VariableDefault::Computed => defaults.push(name.clone()),
            VariableDefault::Constant(value) => defaults.push(format!("{name} = {value}")),
        }
    }
    list("environment variables that it reads", names)
        + &list("not set", unset)
        + &list("default", defaults)
}

/// Describes the memory of data files; empty if the plan has none.
fn describe_data(memory: &DataMemory) -> String {
    match memory.taken() {
        0 => String::new(),
        taken => format!(
            "\nmemory of its data files: {} of {} ('--data-memory')",
            show_size(taken as f64),
            show_size(memory.limit() as f64)
        ),
    }
}

/// Describes the effect of the host's path on those of requests; `None` if it has none.
fn describe_host_path(host: &str) -> Option<String> {
    let url = Url::parse(host).ok()?;
    let path = url.path().trim_end_matches('/');
    let origin = url.origin().ascii_serialization();
    (!path.is_empty() && url.has_host()).then(|| {
        format!(
            "\nthe host has the path '{path}': \"/page\" and \"page\" are both {origin}{path}/page; what a page links to, and \
             'expect.redirect', are whole paths"
        )
    })
}
