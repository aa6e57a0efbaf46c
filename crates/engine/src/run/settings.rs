//! Settings of a run that determine its load, as its report shows them.

use crate::messages::plan_version::PlanVersion;
use lgoose_base::machine;
use lgoose_metrics::{MachineRow, RunSettings};
use lgoose_plan::config::{
    ClientKind, Http, Load, LocalConfig, MitigationCadence, Proxy, RunConfig, ShowLevel, Spacing,
};
use std::net::IpAddr;
use std::time::Duration;

/// Returns the settings of a run of that plan for its report: of headers only the names, of a proxy no user and no
/// password.
pub(super) fn settings_of(
    config: &RunConfig,
    local: &LocalConfig,
    plan_version: &PlanVersion,
) -> RunSettings {
    let seconds = |time: Duration| format!("{}s", time.as_secs_f64());
    let (stages, rate, arrivals) = load(&config.load);
    RunSettings {
        users: config.users,
        hatch_rate: Some(config.hatch_rate).filter(|rate| rate.is_finite()),
        run_time: config.run_time.map(seconds),
        stages,
        rate,
        arrivals: arrivals.map(str::to_owned),
        iterations: config.iterations,
        shared_iterations: config.shared_iterations,
        own_loads: plan_version
            .plan
            .own_loads()
            .into_iter()
            .map(|(name, own)| (name, own.to_string()))
            .collect(),
        throttle_requests: config.throttle_requests,
        wait_factor: config.wait_factor,
        scenarios: config.scenarios.clone(),
        tags: config.tags.clone(),
        exclude_tags: config.exclude_tags.clone(),
        warmup: config.warmup.map(seconds),
        reset_stats: config.reset_stats,
        stop_timeout: seconds(config.stop_timeout),
        timeout: seconds(config.timeout),
        max_body: config.max_body,
        http: match config.http {
            Http::Any => "any",
            Http::Http1 => "1.1",
            Http::Http2 => "2",
        }
        .to_owned(),
        client: match config.client {
            ClientKind::Direct => "direct",
            ClientKind::Reqwest => "reqwest",
        }
        .to_owned(),
        proxy: proxy(&config.proxy),
        insecure: config.insecure,
        headers: config.headers.keys().cloned().collect(),
        resolve: config.resolve.iter().map(ToString::to_string).collect(),
        dns_ttl: config.dns_ttl.map(seconds),
        local_address: local_address(&local.local_addresses),
        no_keepalive: !config.keep_alive,
        no_cookies: !config.cookies,
        max_redirects: config.max_redirects,
        referer: config.referer,
        cache: config.cache,
        connections: config.connections.word().to_owned(),
        connections_per_host: config.connections_per_host,
        discard: config.discard.word().to_owned(),
        sticky_follow: config.sticky_follow,
        trace_sample: config.trace_sample,
        request_names: config.request_names.word().to_owned(),
        co_mitigation: match config.co_mitigation {
            MitigationCadence::Disabled => "disabled",
            MitigationCadence::Average => "average",
            MitigationCadence::Minimum => "minimum",
            MitigationCadence::Maximum => "maximum",
        }
        .to_owned(),
        thresholds: thresholds(config),
        fail_on_error: config.fail_on_error,
        fail_on_saturation: config.fail_on_saturation,
        allow_short: config.allow_short,
        once: local.show != ShowLevel::Nothing,
        threads: local.threads as u64,
        lua_memory: config.lua_memory,
        lua_time: seconds(config.lua_time),
        plan_sha256: plan_version.digest(),
        machine: machine_row(),
    }
}

/// Returns the stages, the rate, and the spacing of arrivals.
fn load(load: &Load) -> (Vec<String>, Option<f64>, Option<&'static str>) {
    let stage = |time: &Duration, to: String| format!("{}s:{to}", time.as_secs_f64());
    match load {
        Load::Users => (Vec::new(), None, None),
        Load::Stages(stages) => {
            let stages = stages.iter();
            let stages = stages.map(|(time, users)| stage(time, users.to_string()));
            (stages.collect(), None, None)
        }
        Load::Rate(stages, spacing) => {
            let spacing = match spacing {
                Spacing::Even => "even",
                Spacing::Poisson => "poisson",
            };
            match stages[..] {
                [(Duration::ZERO, rate)] => (Vec::new(), Some(rate), Some(spacing)),
                _ => {
                    let stages = stages.iter();
                    let stages = stages.map(|(time, rate)| stage(time, format!("{rate}/s")));
                    (stages.collect(), None, Some(spacing))
                }
            }
        }
    }
}

/// Returns the addresses as the command line takes them; `None` for none.
fn local_address(addresses: &[IpAddr]) -> Option<String> {
    let texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

fn proxy(proxy: &Proxy) -> String {
    match proxy {
        Proxy::None => "none".to_owned(),
        Proxy::Environment => "env".to_owned(),
        Proxy::At(url) => {
            let port = url.port_or_known_default().unwrap_or_default();
            let host = url.host_str().unwrap_or_default();
            format!("{}://{host}:{port}", url.scheme())
        }
    }
}

/// Returns the thresholds as the command line takes them.
pub(crate) fn thresholds(config: &RunConfig) -> Vec<String> {
    let thresholds = config.thresholds.iter();
    thresholds
        .map(|threshold| match &threshold.name {
            Some(name) => format!("{name}: {threshold}"),
            None => threshold.to_string(),
        })
        .collect()
}

fn machine_row() -> MachineRow {
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    MachineRow {
        cpu_model: machine::cpu_model().unwrap_or_default(),
        cores: machine::cores() as u64,
        memory_bytes: machine::total_memory(),
        kernel: machine::kernel(),
        lgoose: format!("{} ({build} build)", env!("CARGO_PKG_VERSION")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_plan::config::{Config, Settings, Value};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    #[test]
    fn what_decides_the_load_is_reported_and_no_secret() {
        let mut settings = Settings::default();
        let text = |text: &str| Value::Text(text.to_owned());
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer hidden".to_owned())]);
        for (field, value) in [
            ("stages", text("90s:40/s")),
            ("arrivals", text("poisson")),
            ("proxy", text("http://me:hidden@proxy:8080")),
            ("timeout", text("500ms")),
            ("thresholds", text("p95 < 300ms")),
        ] {
            settings.set(field, &value).expect("it fits");
        }
        settings.headers = Some(headers);
        let config = Config::new(settings, 2, 1).expect("it fits");
        let plan = "task { function(user) user:get '/' end }";
        let variables = BTreeMap::from([("KEY".to_owned(), "hidden".to_owned())]);
        let (program, plan, _) = lgoose_lua::load("p.lua", plan, variables, 1).expect("a plan");
        let run = Arc::new(config.run.clone());
        let plan_version = PlanVersion::new(program, plan, Vec::new(), run);
        let run_settings = settings_of(&config.run, &config.local, &plan_version);
        assert_eq!(run_settings.stages, ["90s:40/s"]);
        assert_eq!(
            (run_settings.rate, run_settings.arrivals.as_deref()),
            (None, Some("poisson"))
        );
        assert_eq!(
            (&*run_settings.timeout, &*run_settings.proxy),
            ("0.5s", "http://proxy:8080")
        );
        assert_eq!(run_settings.headers, ["Authorization"]);
        assert_eq!(run_settings.thresholds, ["p95 < 300ms"]);
        assert_eq!(run_settings.plan_sha256.len(), 64);
        assert!(run_settings.machine.cores > 0);
        let json = serde_json::to_string(&run_settings).expect("plain data");
        assert!(!json.contains("hidden"), "{json}");
    }
}
