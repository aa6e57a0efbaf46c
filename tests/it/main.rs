//! Whole runs of the program over real connections: what it prints, what it counts, how it exits.
//!
//! Each test starts the program as a person would and reads its report; the sites are on 127.0.0.1.

mod accuracy;
mod accuracy_corrected;
mod accuracy_over_time;
#[cfg(target_os = "linux")]
mod accuracy_own_part;
mod attach;
mod broker;
mod browser;
mod bytes;
mod command_line;
mod connections;
mod content;
#[cfg(target_os = "linux")]
mod cores;
mod drupal;
mod embed;
mod endings;
mod failing;
mod faults;
mod faulty;
mod files;
mod flags;
mod forward;
mod gaggle;
mod gaggle_logs;
mod gaggle_permissions;
mod gaggle_tls;
mod gaggle_told;
mod gather;
mod hops;
mod hostile;
mod http2;
mod http2_site;
mod interrupts;
mod language;
mod load;
mod load_parts;
mod log_files;
mod logging_site;
mod logs;
mod machine;
mod malformed;
mod measures;
mod mistakes;
mod one_page;
mod otlp;
mod outputs;
mod over_time;
mod pacing;
mod page;
mod parts;
mod places;
mod plans;
mod program;
mod prometheus;
mod proxy;
mod raising;
mod rate;
mod readme;
mod reload;
mod report;
mod run_control;
mod sandbox;
mod saturation;
mod secure;
mod seed;
mod server;
mod steering;
mod stopping;
mod terminal;
mod thresholds;
mod tools;
mod umami;
mod unanswered;
mod view;
mod web;
mod web_client;
mod web_dashboard;
mod web_guard;
mod web_page;

mod web_prometheus;
mod web_serve;
mod web_serve_guard;
mod web_serve_page;
mod wordpress;

/// The client of runs that do not choose one; `tests/it_reqwest` has another.
const CLIENT: Option<&str> = None;
