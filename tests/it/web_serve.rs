//! `lgoose serve`: runs that are started over HTTP, the queue, the history, and what must not come through.

use crate::program::{Lgoose, Running, plan, scratch, wait_until};
use crate::report::saved;
use crate::server::Server;
use crate::web_client::{TOKEN, Web};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A plan that goes on until it is stopped.
pub(crate) const BUSY: &str = "task { wait = 0.01, function(user) user:get \"/\" end }";

/// A server of runs, with its folders.
pub(crate) struct Host {
    pub(crate) running: Running,
    pub(crate) web: Web,
    pub(crate) plans: PathBuf,
    pub(crate) data: PathBuf,
}

impl Host {
    /// Starts a server over empty folders with these plans.
    pub(crate) fn start(name: &str, plans: &[(&str, &str)], more: &[&str]) -> Host {
        let folder = scratch(name);
        let _of_an_earlier_test = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("plans")).expect("a folder");
        for (name, text) in plans {
            let path = folder.join("plans").join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Host::again(&folder, more)
    }

    /// Starts a server over the folders that are there.
    pub(crate) fn again(folder: &Path, more: &[&str]) -> Host {
        Host::within(folder, more, &[])
    }

    /// Starts it with variables in its environment.
    fn within(folder: &Path, more: &[&str], variables: &[(&str, &str)]) -> Host {
        let (plans, data) = (folder.join("plans"), folder.join("runs"));
        let (from, to) = (plans.display().to_string(), data.display().to_string());
        let own = ["serve", &from, "--data", &to, "--web", "127.0.0.1:0"];
        let mut command = Lgoose::new(own.iter().chain(more)).env("LGOOSE_WEB_TOKEN", TOKEN);
        for (name, value) in variables {
            command = command.env(name, value);
        }
        let running = command.start();
        wait_until("the address of the page", || {
            running.stderr().contains("/?token=")
        });
        let web = Web::of(&running.stderr());
        Host {
            running,
            web,
            plans,
            data,
        }
    }

    /// Asks for a run, and returns its name.
    pub(crate) fn run(&self, plan: &str, options: &Value) -> String {
        let body = json!({ "plan": plan, "options": options }).to_string();
        let answer = self.web.post("/api/v1/runs", &body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let id = answer.json()["id"].as_str().expect("a name").to_owned();
        assert_eq!(answer.header("location"), format!("/api/v1/runs/{id}"));
        id
    }

    /// Returns a run as it is now.
    pub(crate) fn row(&self, id: &str) -> Value {
        let answer = self.web.get(&format!("/api/v1/runs/{id}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Returns names and states of all runs.
    pub(crate) fn states(&self) -> Vec<(String, String)> {
        let list = self.web.get("/api/v1/runs").json();
        let rows = list["runs"].as_array().expect("a list").iter();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        rows.map(|row| (text(&row["id"]), text(&row["state"])))
            .collect()
    }

    pub(crate) fn wait_for(&self, id: &str, state: &str) {
        wait_until(state, || self.row(id)["state"] == state);
    }

    /// Waits until the run that goes on has sent something.
    pub(crate) fn wait_for_requests(&self) {
        wait_until("requests", || {
            self.web.get("/api/v1/status").json()["aggregated"]["count"].as_u64() > Some(0)
        });
    }

    /// Ends the server, which has nothing to stop.
    pub(crate) fn end(self) {
        self.running.interrupt();
        assert_eq!(self.running.end().code, 0);
    }
}

fn named(id: &str, state: &str) -> (String, String) {
    (id.to_owned(), state.to_owned())
}

#[test]
fn runs_go_on_one_after_another_and_are_kept_over_a_restart() {
    let server = Server::start();
    let url = server.url();
    let host = Host::start("serve_queue", &[("busy.lua", BUSY), ("b/c.lua", BUSY)], &[]);
    let plans = host.web.get("/api/v1/plans").json();
    assert_eq!(plans["plans"], json!(["b/c.lua", "busy.lua"]));
    assert_eq!(host.web.get("/api/v1/status").json()["phase"], "idle");
    for path in ["snapshot", "events", "report.json"] {
        let answer = host.web.get(&format!("/api/v1/{path}"));
        assert_eq!(answer.status, 409, "{path}: {}", answer.text());
        assert!(
            answer.text().contains("no run is in progress"),
            "{}",
            answer.text()
        );
    }
    assert_eq!(host.web.get("/metrics").text(), "# EOF\n");

    let load = json!({ "host": url, "users": 2, "hatch-rate": 100, "env": ["PASSWORD=secret"] });
    let first = host.run("busy.lua", &load);
    let second = host.run(
        "b/c.lua",
        &json!({ "host": url, "users": 1, "iterations": 3 }),
    );
    let third = host.run("busy.lua", &load);
    assert!(second.ends_with("Z-b_c"), "{second}");
    host.wait_for_requests();
    // One user after the other starts.
    let status = || host.web.get("/api/v1/status").json();
    wait_until("both users", || status()["users_now"] == 2);
    assert_eq!(status()["phase"], "running");
    let open = [
        named(&first, "running"),
        named(&second, "queued"),
        named(&third, "queued"),
    ];
    assert_eq!(host.states(), open);

    // The interface of the run is there in full.
    let answer = host.web.post("/api/v1/users", "{\"n\": 3}");
    assert_eq!(
        (answer.status, &answer.json()["done"]),
        (202, &json!("3 users wanted"))
    );
    assert_eq!(host.web.post("/api/v1/users", "{\"n\": -3}").status, 400);
    assert_eq!(host.web.post("/api/v1/rate", "{\"per_s\": 3}").status, 409);
    assert!(
        host.web
            .get("/metrics")
            .text()
            .contains("lgoose_requests_total")
    );
    let far = format!("/api/v1/runs/{first}/report.json");
    assert!(host.web.get(&far).json()["aggregated"]["count"].as_u64() > Some(0));
    let mut events = host.web.events(None);
    let event = events.next().expect("an event");
    assert_eq!(
        (&*event.name, &event.data["begin"]),
        ("snapshot", &json!(true))
    );
    let deleted = host
        .web
        .send(&format!("DELETE /api/v1/runs/{first}"), "", "");
    assert!(
        deleted.status == 409 && deleted.text().contains("stop it first"),
        "{}",
        deleted.text()
    );
    let taken_out = host
        .web
        .send(&format!("DELETE /api/v1/runs/{third}"), "", "");
    assert_eq!(taken_out.status, 204, "{}", taken_out.text());
    assert!(!host.data.join(&third).exists());

    assert_eq!(host.web.post("/api/v1/stop", "").status, 202);
    assert!(events.any(|event| event.name == "end"), "readers are told");
    host.wait_for(&second, "kept");
    let over = [named(&second, "kept"), named(&first, "kept")];
    assert_eq!(host.states(), over);
    let row = host.row(&second);
    assert_eq!(
        (&row["exit_code"], &row["report"]["requests"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(host.row(&first)["options"]["env"], json!(["PASSWORD=…"]));
    let kept = fs::read_to_string(host.data.join(&first).join("run.json")).expect("it is kept");
    assert!(!kept.contains("secret"), "{kept}");
    let command = host.web.post("/api/v1/stop", "");
    assert!(
        command.status == 409 && command.text().contains("no run is in progress"),
        "{}",
        command.text()
    );
    // The report of the run that has just ended, and of each.
    let report = |path: &str| {
        let answer = host.web.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    };
    for ending in ["json", "yaml", "csv", "html", "md", "hdr"] {
        let own = report(&format!("/api/v1/runs/{second}/report.{ending}"));
        assert_eq!(own, report(&format!("/api/v1/report.{ending}")), "{ending}");
    }
    let file = fs::read_to_string(host.data.join(&second).join("report.json")).expect("it is kept");
    assert_eq!(report(&format!("/api/v1/runs/{second}/report.json")), file);
    assert_eq!(report(&format!("/api/v1/runs/{second}/plan")), BUSY);
    let folder = host.data.parent().expect("a folder").to_owned();
    host.end();

    let host = Host::again(&folder, &[]);
    assert_eq!(host.states(), over);
    let deleted = host
        .web
        .send(&format!("DELETE /api/v1/runs/{first}"), "", "");
    assert_eq!(deleted.status, 204);
    assert!(!host.data.join(&first).exists());
    assert_eq!(host.states(), [named(&second, "kept")]);
    host.end();
}

#[test]
fn a_report_of_the_command_line_can_be_put_there_and_a_broken_one_says_what_is_wrong() {
    let server = Server::start();
    let host = Host::start("serve_drop", &[], &[]);
    fs::create_dir_all(host.data.join("by hand")).expect("a folder");
    let (path, url) = (plan("serve_drop.lua", BUSY), server.url());
    let output = format!("json={}", host.data.join("by hand/report.json").display());
    let arguments = [&*path, "-H", &url, "-u", "1", "-i", "4", "-o", &output];
    assert_eq!(Lgoose::new(arguments).finish().code, 0);
    fs::create_dir_all(host.data.join("broken")).expect("a folder");
    fs::write(host.data.join("broken/report.json"), "{\"version\": 1}").expect("a file");
    assert_eq!(
        host.states(),
        [named("by hand", "kept"), named("broken", "failed")]
    );
    let row = host.row("by%20hand");
    assert_eq!(
        (&row["report"]["requests"], &row["options"]),
        (&json!(4), &Value::Null)
    );
    let page = host.web.get("/api/v1/runs/by%20hand/report.html");
    assert!(
        page.header("content-security-policy")
            .starts_with("sandbox")
    );
    let told = host.row("broken")["error"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        told.contains("not a report of lgoose") && told.contains("line 1"),
        "{told}"
    );
    assert_eq!(host.web.get("/api/v1/runs/broken/report.html").status, 422);
    host.end();
}

#[test]
fn an_interrupt_stops_the_run_whose_report_is_kept_and_those_that_wait_are_told_as_lost() {
    let server = Server::start();
    let host = Host::start("serve_interrupt", &[("busy.lua", BUSY)], &[]);
    let load = json!({ "host": server.url(), "users": 1 });
    let [first, second] = [(), ()].map(|()| host.run("busy.lua", &load));
    host.wait_for_requests();
    let folder = host.data.parent().expect("a folder").to_owned();
    host.running.interrupt();
    let ended = host.running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let sent = server.received();
    let host = Host::again(&folder, &[]);
    assert_eq!(
        host.states(),
        [named(&second, "failed"), named(&first, "kept")]
    );
    let report = host
        .web
        .get(&format!("/api/v1/runs/{first}/report.json"))
        .json();
    assert_eq!(report["aggregated"]["count"].as_u64(), Some(sent));
    let told = host.row(&second)["error"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(told.contains("before this run began"), "{told}");
    host.end();
}

#[test]
fn what_announces_a_kill_stops_a_server_and_its_run_and_a_repeat_aborts_nothing() {
    let server = Server::start();
    let waits = "task { function(user) user:get \"/\" user:wait(0.5) end }";
    let host = Host::start("serve_announced", &[("waits.lua", waits)], &[]);
    let id = host.run("waits.lua", &json!({ "host": server.url(), "users": 1 }));
    host.wait_for_requests();
    let folder = host.data.clone();
    for kind in [Signal::USR1, Signal::XCPU, Signal::USR2] {
        host.running.signal(kind);
    }
    let ended = host.running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = saved(&folder.join(&id).join("report.json"));
    assert_eq!(
        report["aggregated"]["count"].as_u64(),
        Some(server.received())
    );
    let record = saved(&folder.join(&id).join("run.json"));
    assert!(!record["end"].is_null(), "{record}");
}

#[test]
fn a_second_interrupt_aborts_and_a_server_that_is_killed_leaves_no_load_behind() {
    let server = Server::start();
    let stuck = "task { function(user) user:get \"/hold\" end }";
    let host = Host::start("serve_abort", &[("stuck.lua", stuck)], &[]);
    let load = json!({ "host": server.url(), "users": 1 });
    let first = host.run("stuck.lua", &load);
    wait_until("a request", || server.received() == 1);
    let folder = host.data.parent().expect("a folder").to_owned();
    host.running.interrupt();
    wait_until("the run stops", || {
        host.web.get("/api/v1/status").json()["phase"] == "stopping"
    });
    host.running.interrupt();
    assert_eq!(host.running.end().code, 130);
    let report = folder.join("runs").join(&first).join("report.json");
    wait_until("the report", || report.exists());

    let host = Host::again(&folder, &[]);
    let second = host.run(
        "stuck.lua",
        &json!({ "host": server.url(), "users": 1, "stop_timeout": "0s" }),
    );
    wait_until("a request", || server.received() == 2);
    // As by 'kill -9': nobody is left to say anything.
    drop(host.running);
    let report = folder.join("runs").join(&second).join("report.json");
    wait_until("the report", || report.exists());
}

#[test]
fn a_server_that_is_started_again_begins_no_run_beside_one_that_still_goes_on() {
    let server = Server::start();
    let held = "task { function(user) user:get \"/hold\" end }";
    let plans = [("busy.lua", BUSY), ("held.lua", held)];
    let host = Host::start("serve_orphan", &plans, &[]);
    let load = json!({ "host": server.url(), "users": 1, "stop_timeout": "6s" });
    let first = host.run("held.lua", &load);
    wait_until("a request", || server.received() == 1);
    let folder = host.data.parent().expect("a folder").to_owned();
    drop(host.running);
    let host = Host::again(&folder, &[]);
    let row = host.row(&first);
    assert_eq!(
        (&row["state"], &row["error"]),
        (&json!("running"), &json!(null)),
        "{row}"
    );
    let removed = format!("DELETE /api/v1/runs/{first}");
    assert_eq!(host.web.send(&removed, "", "").status, 409);
    let second = host.run(
        "busy.lua",
        &json!({ "host": server.url(), "users": 1, "iterations": 2 }),
    );
    wait_until("it waits", || {
        host.running
            .stderr()
            .contains(&format!("run {second} waits for the end of run {first}"))
    });
    assert_eq!(server.received(), 1);
    host.wait_for(&second, "kept");
    assert_eq!(host.row(&first)["state"], "kept");
    host.end();
}

#[test]
fn a_plan_that_ends_its_process_takes_nothing_else_along() {
    let server = Server::start();
    let hungry = "local kept = {} task { function(user) for i = 1, 1e9 do kept[i] = ('x'):rep(1000) .. i end end }";
    let plans = [("busy.lua", BUSY), ("hungry.lua", hungry)];
    Host::start("serve_hungry", &plans, &[]).end();
    // All users together may take less than each of them alone.
    let limits = [
        ("LGOOSE_MEMORY", "200MiB"),
        ("LGOOSE_LUA_MEMORY", "4GiB"),
        ("LGOOSE_LUA_TIME", "60s"),
    ];
    let host = Host::within(&scratch("serve_hungry"), &[], &limits);
    let url = server.url();
    let first = host.run("hungry.lua", &json!({ "host": url, "users": 1 }));
    let second = host.run(
        "busy.lua",
        &json!({ "host": url, "users": 1, "iterations": 2 }),
    );
    host.wait_for(&second, "kept");
    let row = host.row(&first);
    assert_eq!(row["exit_code"], 3, "{row}");
    assert!(
        row["error"].as_str().expect("a text").contains("200 MiB"),
        "{row}"
    );
    host.end();
}

#[test]
fn a_run_whose_report_cannot_be_kept_is_told_with_its_tables() {
    let server = Server::start();
    let host = Host::start("serve_full", &[("busy.lua", BUSY)], &[]);
    let id = host.run("busy.lua", &json!({ "host": server.url(), "users": 1 }));
    host.wait_for_requests();
    // As a full disk or a share that has gone: nothing can be written.
    fs::remove_dir_all(&host.data).expect("it is ours");
    assert_eq!(host.web.post("/api/v1/stop", "").status, 202);
    wait_until("the end is told", || {
        host.running.stderr().contains("is not kept")
    });
    let row = host.row(&id);
    assert_eq!(
        (&row["state"], &row["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    let text = |name: &str| row[name].as_str().expect("a text").to_owned();
    assert!(text("error").contains("cannot write the report"), "{row}");
    assert!(text("output").contains("Aggregated"), "{row}");
    let list = host.web.get("/api/v1/runs").json();
    assert_eq!(list["runs"][0]["id"], json!(id));
    assert!(
        list["error"]
            .as_str()
            .expect("a text")
            .contains("cannot read"),
        "{list}"
    );
    let body = json!({ "plan": "busy.lua", "options": { "host": server.url() } }).to_string();
    let refused = host.web.post("/api/v1/runs", &body);
    assert_eq!(refused.status, 507, "{}", refused.text());
    host.end();
}

#[test]
fn runs_have_options_of_the_environment_but_not_its_token_and_write_nothing_else() {
    let server = Server::start();
    let curious = "task { function(user)
        user:get(\"/\", { name = env(\"LGOOSE_WEB_TOKEN\", \"no token\") .. env(\"PLACE\", \"\") })
    end }";
    Host::start("serve_environment", &[("curious.lua", curious)], &[]).end();
    let (url, folder) = (server.url(), scratch("serve_environment"));
    let log = folder.join("log.csv").display().to_string();
    let variables = [
        ("LGOOSE_HOST", &*url),
        ("LGOOSE_ITERATIONS", "2"),
        ("LGOOSE_USERS", "9"),
        ("LGOOSE_REQUEST_LOG", &*log),
        ("PLACE", " here"),
    ];
    for (more, name) in [
        (&["--env-allow", "PLACE"][..], "no token here"),
        // Nothing of the environment is a plan's unless it is named.
        (&[], "no token"),
    ] {
        let host = Host::within(&folder, more, &variables);
        let id = host.run("curious.lua", &json!({ "users": 1 }));
        host.wait_for(&id, "kept");
        let report = host
            .web
            .get(&format!("/api/v1/runs/{id}/report.json"))
            .json();
        let row = &report["requests"][0];
        assert_eq!((&row["name"], &row["count"]), (&json!(name), &json!(2)));
        assert!(!folder.join("log.csv").exists());
        host.end();
    }
    // A socket of the server's machine has to be named there.
    let own = "plan { allow_host = 'unix:*', host = 'unix:/run/other.sock' } task { function(user) user:get '/' end }";
    std::fs::write(folder.join("plans/own.lua"), own).expect("the folder takes a file");
    for limit in [&[][..], &["--sandbox"]] {
        let host = Host::within(&folder, limit, &variables);
        for plan in ["curious.lua", "own.lua"] {
            let options = json!({ "host": "unix:/run/other.sock" });
            let body = json!({ "plan": plan, "options": options }).to_string();
            let refused = host.web.post("/api/v1/runs", &body);
            assert_eq!(refused.status, 422, "{limit:?}: {}", refused.text());
            assert!(
                refused.text().contains("--allow-host unix:/run/other.sock"),
                "{limit:?}: {}",
                refused.text()
            );
        }
        host.end();
    }
    let host = Host::within(&folder, &["--allow-host", "other.example"], &variables);
    let body = json!({ "plan": "curious.lua", "options": {} }).to_string();
    let refused = host.web.post("/api/v1/runs", &body);
    assert_eq!(refused.status, 422, "{}", refused.text());
    host.end();
    assert_eq!(server.received(), 4);
}

#[test]
fn a_server_can_keep_each_plan_to_the_host_of_its_run_and_from_writing() {
    let server = Server::start();
    let elsewhere = Server::start();
    let curious = format!(
        "on('report', function() return {{ ['evil.txt'] = 'evil' }} end)
        task {{ function(user)
            user:get('{}/evil', {{ name = 'evil' }})
            user:get('/' .. env('PLACE', 'none'), {{ name = 'own' }})
        end }}",
        elsewhere.url().replace("127.0.0.1", "localhost")
    );
    let host = Host::start(
        "serve_sandbox",
        &[("curious.lua", &curious)],
        &["--sandbox"],
    );
    let options = json!({ "host": server.url(), "users": 1, "iterations": 2 });
    let id = host.run("curious.lua", &options);
    host.wait_for(&id, "kept");
    let row = host.row(&id);
    let error = row["error"].to_string();
    assert!(
        error.contains("'--sandbox' lets a plan write no file"),
        "{row}"
    );
    let body = json!({ "plan": "curious.lua", "options": {} }).to_string();
    let refused = host.web.post("/api/v1/runs", &body);
    assert_eq!(refused.status, 422, "{}", refused.text());
    host.end();
    assert_eq!((server.received(), elsewhere.received()), (2, 0));
}

#[test]
fn two_runs_are_compared_in_each_format_and_a_mistake_is_told() {
    let server = Server::start();
    let host = Host::start("serve_compare", &[("a.lua", BUSY)], &[]);
    let options = json!({ "host": server.url(), "users": 1, "iterations": 20 });
    let ids = [(); 2].map(|()| {
        let id = host.run("a.lua", &options);
        host.wait_for(&id, "kept");
        id
    });
    let path = |ending: &str| format!("/api/v1/runs/{}/comparison.{ending}", ids[0]);
    let compared = host
        .web
        .get(&format!("{}?after={}", path("json"), ids[1]))
        .json();
    assert_eq!(compared["before"][0]["file"], ids[0]);
    assert_eq!(compared["after"][0]["file"], ids[1]);
    assert!(!compared["rows"].as_array().expect("a list").is_empty());
    let page = host.web.get(&format!("{}?after={}", path("html"), ids[1]));
    assert!(page.text().contains("<!doctype html>"));
    assert!(
        page.header("content-security-policy")
            .starts_with("sandbox")
    );
    let markdown = host.web.get(&format!("{}?after={}", path("md"), ids[1]));
    assert!(markdown.text().starts_with("### "), "{}", markdown.text());
    for (after, status, why) in [
        (String::new(), 400, "which run comes after the change?"),
        (format!("?after={}", ids[0]), 422, "compared with itself"),
        ("?after=nothing".to_owned(), 404, "nothing"),
    ] {
        let refused = host.web.get(&format!("{}{after}", path("html")));
        assert_eq!(refused.status, status, "{after}: {}", refused.text());
        assert!(refused.text().contains(why), "{}", refused.text());
    }
    host.end();
}
