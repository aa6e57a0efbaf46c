//! The line that announces a run: its users, its load and its length. Printed by the process that starts the run.

use super::Plan;
use crate::config::{Load, LoadPart, RunConfig};
use lgoose_base::units;
use std::time::Duration;

/// Describes the run that is about to begin, such as `plans/drupal.lua: 12 users, 1 started per second (all run after
/// 11s), for 30s`.
pub fn announcement(name: &str, plan: &Plan, config: &RunConfig, part: LoadPart) -> String {
    let users = units::counted(config.users, "user") + &split(plan, config);
    let each = config
        .iterations
        .filter(|_| !matches!(config.load, Load::Rate(..)));
    let iterations = [(each, "each"), (config.shared_iterations, "in all")]
        .into_iter()
        .filter_map(|(count, whose)| Some(units::counted(count?, "iteration") + " " + whose));
    let iterations = iterations.collect::<Vec<_>>().join(", ");
    let span = match config.run_time.map(units::show_long) {
        Some(time) if iterations.is_empty() => format!("for {time}"),
        Some(time) => format!("for {iterations}, at most {time}"),
        None if iterations.is_empty() => "until Ctrl-C".to_owned(),
        None => format!("for {iterations}"),
    };
    let load = match &config.load {
        Load::Stages(stages) => format!("up to {users} in {}", parts(stages.len())),
        Load::Rate(rates, _) => {
            let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
            let up_to = match rates[..] {
                [(Duration::ZERO, _)] => String::new(),
                _ => format!("in {}, up to ", parts(rates.len())),
            };
            format!("{up_to}{most} iterations started per second by at most {users}")
        }
        Load::Users if config.hatch_rate.is_finite() => {
            let rate = config.hatch_rate;
            // No more digits than matter to anybody.
            let rate = if rate < 10.0 {
                (rate * 1e3).round() / 1e3
            } else {
                (rate * 10.0).round() / 10.0
            };
            match config.users {
                0 | 1 => users,
                others => {
                    let start = (others - 1) as f64 / config.hatch_rate;
                    let start = Duration::try_from_secs_f64(start).unwrap_or(Duration::MAX);
                    let start = if start < Duration::from_secs(1) {
                        units::show_duration(start)
                    } else {
                        units::show_long(start)
                    };
                    // Users who end after some iterations may never be there together.
                    let sooner = if config.hatch_rate == 1.0 && config.iterations.is_some() {
                        format!("; '-r {others}' starts them in a second")
                    } else {
                        String::new()
                    };
                    format!("{users}, {rate} started per second (all run after {start}{sooner})")
                }
            }
        }
        Load::Users => format!("{users}, all started at once"),
    };
    let part = match part {
        LoadPart::WHOLE => String::new(),
        part => format!("{part} of "),
    };
    let own = plan.scenarios.iter().filter_map(|scenario| {
        let own = scenario.load.as_ref()?;
        Some(format!("'{}': {own}", scenario.name))
    });
    let own: Vec<String> = own.collect();
    let shares = own.len() < plan.scenarios.len();
    let shared = if own.is_empty() {
        format!("{load}, {span}")
    } else {
        format!("the others: {load}, {span}")
    };
    let loads: Vec<String> = own.into_iter().chain(shares.then_some(shared)).collect();
    format!("{name}: {part}{}", loads.join("; "))
}

/// Returns how the users are split among the scenarios, in brackets; empty if there is only one scenario, or in a run
/// at a rate, where users serve all scenarios in turn.
fn split(plan: &Plan, config: &RunConfig) -> String {
    const NAMED: usize = 8;
    if matches!(config.load, Load::Rate(..)) {
        return String::new();
    }
    let shares = plan.lanes(config.users).shares();
    if shares.len() < 2 {
        return String::new();
    }
    let named = shares.iter().take(NAMED).map(|(place, users)| {
        let name = &plan.scenarios[*place].name;
        format!("{} × {name}", units::show_count(*users))
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if shares.len() > NAMED {
        text += &format!(" and {} more scenarios", shares.len() - NAMED);
    }
    format!(" ({text})")
}

fn parts(stages: usize) -> String {
    match stages {
        1 => "1 stage".to_owned(),
        stages => format!("{stages} stages"),
    }
}
