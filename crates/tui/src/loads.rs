//! The load that the keys set, in a run in which scenarios have loads of their own: the one that the others share, or
//! that of one scenario.

use super::state::ViewState;
use super::text::one_line;
use lgoose_base::units::counted;
use lgoose_metrics::control::Command;
use lgoose_metrics::{LiveLoad, Snapshot};

/// Returns the load that the keys set; `None` where there is only one.
pub(super) fn load<'a>(state: &'a ViewState, snapshot: &'a Snapshot) -> Option<&'a LiveLoad> {
    let loads = loads(state, snapshot);
    let chosen = loads.iter().find(|load| load.scenario == state.load);
    chosen.or(loads.first())
}

/// Makes the keys set the next load.
pub(super) fn next_load(state: &mut ViewState, snapshot: &Snapshot) {
    let loads = loads(state, snapshot);
    let now = load(state, snapshot);
    let at = loads.iter().position(|load| Some(load) == now);
    let Some(next) = at.and_then(|at| loads.get((at + 1) % loads.len())) else {
        state.notice = "no scenario has a load of its own".to_owned();
        return;
    };
    let notice = format!("+ - u i: {}, {}", whose(next), describe_load(next));
    state.load = next.scenario.clone();
    state.notice = notice;
}

/// Returns the current loads, also while the pages show an earlier moment.
fn loads<'a>(state: &'a ViewState, snapshot: &'a Snapshot) -> &'a [LiveLoad] {
    &state.figures.latest.as_deref().unwrap_or(snapshot).loads
}

/// Returns the rate of the load that the keys set, if it has one.
pub(super) fn rate(state: &ViewState, snapshot: &Snapshot) -> Option<f64> {
    load(state, snapshot).map_or(snapshot.progress.wanted.rate, |load| load.rate)
}

/// Returns the scenario whose load the keys set, if that load is its own.
fn owner(state: &ViewState, snapshot: &Snapshot) -> Option<String> {
    let scenario = load(state, snapshot)?.scenario.as_deref();
    scenario.map(str::to_owned)
}

/// Returns the command that sets the users or, at a rate, the most users.
pub(super) fn set_users(state: &ViewState, users: u64, snapshot: &Snapshot) -> Command {
    match owner(state, snapshot) {
        Some(owner) => Command::SetUsersOf(owner, users),
        None => Command::SetUsers(users),
    }
}

/// Returns the command that sets the rate.
pub(super) fn set_rate(state: &ViewState, rate: f64, snapshot: &Snapshot) -> Command {
    match owner(state, snapshot) {
        Some(owner) => Command::SetRateOf(owner, rate),
        None => Command::SetRate(rate),
    }
}

/// Returns the command that adds `steps` steps to the load. A step is one user or, at a rate, a round number of
/// iterations per second that suits the rate.
pub(super) fn more(state: &ViewState, steps: i64, snapshot: &Snapshot) -> Command {
    let Some(rate) = rate(state, snapshot) else {
        return match owner(state, snapshot) {
            Some(owner) => Command::AddUsersOf(owner, steps),
            None => Command::AddUsers(steps),
        };
    };
    let step = match rate {
        10.0.. => 10_f64.powf(rate.log10().floor() - 1.0),
        1.0.. => 1.0,
        _ => 0.1,
    };
    let more = step * steps as f64;
    match owner(state, snapshot) {
        Some(owner) => Command::AddRateOf(owner, more),
        None => Command::AddRate(more),
    }
}

/// Returns whose load it is, in words.
pub(super) fn whose(load: &LiveLoad) -> String {
    match &load.scenario {
        Some(scenario) => format!("'{}'", one_line(scenario)),
        None => "the others".to_owned(),
    }
}

/// Returns the users and the rate of a load, and whether it is under way, in words.
pub(super) fn describe_load(load: &LiveLoad) -> String {
    let users = counted(load.users, "user");
    let aim = match load.rate {
        Some(rate) => format!("{rate} iterations/s wanted by at most {users}"),
        None => format!("{users} wanted"),
    };
    if load.is_under_way {
        aim
    } else {
        format!("{aim}, not under way")
    }
}
