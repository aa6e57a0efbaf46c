//! The tests of `tests/it` that exercise HTTP, once more over reqwest: the session is the same, so are the
//! answers, the counts and the classes of failures. What differs, as `--help` says of `--client`:
//! - the words after the classes 'protocol' and 'too large' are hyper's;
//! - fewer phases are known, which the test below holds to;
//! - which connection carried a request is not known;
//! - bytes are those of heads and bodies, without the framing of chunks;
//! - a body is sent without waiting for '100 Continue';
//! - a head may have 100 fields instead of 128;
//! - an early response to a large body, such as 413, may be lost with the connection;
//! - the lines of chunks end with CR LF, and not with LF alone;
//! - interim responses are not counted, nor does a length beside chunks end the connection;
//! - a connection of HTTP/2 cannot be asked whether it lives: each timeout without any answer ends it;
//! - a POST or PATCH whose kept connection the site has closed is not sent again;
//! - a server that leaves without having looked at a request is asked again only if that may be sent twice;
//! - the chunks of a body that is sent are hyper's;
//! - a flood of pings or settings over HTTP/2 takes the time of its thread until the run ends;
//! - `host` comes last among the headers, and one of the plan's own is for HTTP/1.1 only: over HTTP/2 it
//!   stands beside `:authority`, which servers refuse.

#![allow(
    dead_code,
    reason = "what helps the tests that are not repeated here is not used"
)]

#[path = "../it/cache.rs"]
mod cache;
#[path = "../it/connections.rs"]
mod connections;
#[path = "../it/content.rs"]
mod content;
#[path = "../it/drupal.rs"]
mod drupal;
#[path = "../it/failing.rs"]
mod failing;
#[path = "../it/faults.rs"]
mod faults;
#[path = "../it/faulty.rs"]
mod faulty;
#[path = "../it/hops.rs"]
mod hops;
#[path = "../it/http2.rs"]
mod http2;
#[path = "../it/http2_site.rs"]
mod http2_site;
#[path = "../it/http2_sockets.rs"]
mod http2_sockets;
#[path = "../it/language.rs"]
mod language;
#[path = "../it/log_files.rs"]
mod log_files;
#[path = "../it/log_lines.rs"]
mod log_lines;
#[path = "../it/logs.rs"]
mod logs;
#[path = "../it/malformed.rs"]
mod malformed;
#[path = "../it/program.rs"]
mod program;
#[path = "../it/raising.rs"]
mod raising;
#[path = "../it/report.rs"]
mod report;
#[path = "../it/secure.rs"]
mod secure;
#[path = "../it/server.rs"]
mod server;
#[path = "../it/skipping.rs"]
mod skipping;
#[path = "../it/split_responses.rs"]
mod split_responses;
#[path = "../it/stopping.rs"]
mod stopping;
#[path = "../it/traceparent.rs"]
mod traceparent;
#[path = "../it/umami.rs"]
mod umami;
#[path = "../it/unanswered.rs"]
mod unanswered;

/// What sends the requests of every run here.
const CLIENT: Option<&str> = Some("reqwest");

#[test]
fn sending_counts_as_waiting_and_tls_as_connecting() {
    let server = server::Server::start();
    let text = "task { function(user) user:get(\"/\", { name = \"page\" }) end }";
    let path = program::plan("reqwest_phases.lua", text);
    let url = server.url();
    let phases = |client| {
        let arguments = [path.as_str(), "-H", &url, "-u", "1", "-i", "1"];
        let report = report::run(arguments.iter().chain(&["--client", client]));
        let phases = &report.json["requests"][0]["phases_ms"];
        ["connect", "tls", "send", "first_byte"].map(|phase| phases[phase].is_number())
    };
    assert_eq!(phases("reqwest"), [true, false, false, true]);
    assert_eq!(phases("direct"), [true, false, true, true]);
}
