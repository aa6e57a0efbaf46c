//! A real Prometheus that scrapes a run as `deploy/prometheus.yml` says. Debian's package is enough (`apt-get install
//! prometheus`); without one on the PATH a test says "skipped" and passes, and fails with `LGOOSE_NEED_PROMETHEUS=1`.

use crate::program::{in_repository, scratch};
use crate::skipping::skip;
use crate::web_client::{Answer, TOKEN, Web};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How histograms are scraped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Histograms {
    Native,
    Classic,
}

/// A running Prometheus; killed when this is dropped.
pub(crate) struct Prometheus {
    child: Child,
    web: Web,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Prometheus {
    /// Starts one that scrapes a run; `None` if this machine has none. No two use the same name.
    pub(crate) fn start(name: &str, run: Web, histograms: Histograms) -> Option<Prometheus> {
        Prometheus::with_config(&config(name, run), histograms)
    }

    /// Starts one that scrapes each second.
    pub(crate) fn every_second(name: &str, run: Web, histograms: Histograms) -> Option<Prometheus> {
        let config = config(name, run);
        let text = std::fs::read_to_string(&config).expect("it was written");
        let text = text.replace(": 2s", ": 1s");
        std::fs::write(&config, text).expect("written");
        Prometheus::with_config(&config, histograms)
    }

    fn with_config(config: &Path, histograms: Histograms) -> Option<Prometheus> {
        let folder = config.parent().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = free.local_addr().expect("an address");
        drop(free);
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.arg(match histograms {
            Histograms::Native => "--enable-feature=exemplar-storage,native-histograms",
            Histograms::Classic => "--enable-feature=exemplar-storage",
        });
        match command.spawn() {
            Ok(child) => Some(Prometheus {
                child,
                web: Web::at(address),
            }),
            Err(error) => {
                missing("prometheus", &error);
                None
            }
        }
    }

    /// Asks for something of `/api/v1/`; `None` as long as nothing answers.
    pub(crate) fn ask(&self, path: &str, query: &str) -> Option<Value> {
        TcpStream::connect(self.web.address).ok()?;
        let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let answer: Answer = self.web.raw(&format!(
            "GET /api/v1/{path}={query} HTTP/1.0\r\nHost: {}\r\n\r\n",
            self.web.address
        ));
        serde_json::from_slice(&answer.body).ok()
    }

    /// Returns the names, trace ids and values of the exemplars of a metric.
    pub(crate) fn exemplars(&self, metric: &str) -> Vec<(String, String, f64)> {
        let path = "query_exemplars?start=0&end=9999999999&query";
        let answer = self.ask(path, metric).unwrap_or_default();
        let series = answer["data"].as_array().cloned().unwrap_or_default();
        let all = series.iter().flat_map(|series| {
            let name = series["seriesLabels"]["name"].as_str().unwrap_or_default();
            let exemplars = series["exemplars"].as_array().into_iter().flatten();
            exemplars.filter_map(move |one| {
                let trace = one["labels"]["trace_id"].as_str()?.to_owned();
                Some((name.to_owned(), trace, one["value"].as_str()?.parse().ok()?))
            })
        });
        all.collect()
    }

    /// Returns the rows of what a query finds now.
    pub(crate) fn rows(&self, query: &str) -> Vec<Value> {
        let answer = self.ask("query?query", query).unwrap_or_default();
        let rows = answer["data"]["result"].as_array();
        rows.cloned().unwrap_or_default()
    }
}

/// Writes the configuration in `deploy/` for this run, and the token that it wants, to a folder of its own.
pub(crate) fn config(name: &str, run: Web) -> PathBuf {
    let folder = scratch(&format!("prometheus_{name}"));
    let _of_an_earlier_test = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = std::fs::read_to_string(in_repository("deploy/prometheus.yml")).expect("a file");
    let (before, after) = text.split_once("127.0.0.1:7400").expect("a target");
    let config = folder.join("prometheus.yml");
    std::fs::write(&config, format!("{before}{}{after}", run.address)).expect("written");
    std::fs::write(folder.join("lgoose.token"), format!("{TOKEN}\n")).expect("written");
    config
}

/// Says that a program is missing.
pub(crate) fn missing(program: &str, error: &std::io::Error) {
    let needed = std::env::var_os("LGOOSE_NEED_PROMETHEUS").is_some();
    assert!(!needed, "no '{program}' on the PATH: {error}");
    skip(
        "what Prometheus scrapes",
        &format!("Debian's package 'prometheus', for '{program}': {error}"),
    );
}
