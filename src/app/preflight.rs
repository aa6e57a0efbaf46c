//! Checks a run against the limits of this machine before it starts.

use super::prepare::PreparedRun;
use lgoose_base::error::Diagnostic;
#[cfg(feature = "cli")]
use lgoose_base::error::{Error, Trouble};
use lgoose_base::machine;
use lgoose_base::units::{show_count, show_size};
use std::collections::BTreeMap;

/// Descriptors that lgoose needs in addition to the connections of users: for its threads, outputs and libraries.
const OWN_DESCRIPTORS: u64 = 64;
/// Memory of a user with one open connection, in bytes.
const PER_USER: u64 = 56 << 10;

/// Minimum resources of the run: one connection per user. A user that loads the assets of pages has up to six.
#[derive(Debug, Default)]
struct ResourceNeed {
    users: u64,
    /// The most users that one host has.
    at_one_host: u64,
    /// Whether the site runs in this process and needs a descriptor for each connection, too.
    own_site: bool,
}

/// Resources of the machine; `None` if there is no limit or it is unknown.
#[derive(Debug, Default)]
struct ResourceSupply {
    descriptors: Option<u64>,
    ports: Option<u64>,
    memory: Option<u64>,
}

impl ResourceSupply {
    /// Raises the limits that this process may raise itself, and returns the resources, with this much memory. Each local
    /// address has its own ports.
    fn of_machine(memory: Option<u64>, local_addresses: usize) -> ResourceSupply {
        ResourceSupply {
            descriptors: machine::raise_descriptor_limit(),
            ports: machine::local_ports().map(|ports| ports * local_addresses.max(1) as u64),
            memory,
        }
    }
}

/// Raises the limits that this process may raise itself, and returns warnings for those that are too low for the run.
pub(super) fn preflight(prepared: &PreparedRun) -> Vec<Diagnostic> {
    let memory = prepared.run.local.memory;
    let supply = ResourceSupply::of_machine(
        memory.or_else(machine::usual_memory),
        prepared.run.local.local_addresses.len(),
    );
    let mut at_hosts = BTreeMap::<&str, u64>::new();
    let (lanes, hosts) = (
        &prepared.run.plan_version.lanes,
        &prepared.run.plan_version.hosts,
    );
    for (lane, users) in lanes.users().enumerate() {
        for user in 0..users {
            *at_hosts
                .entry(&hosts[lanes.scenario_of(lane, user)])
                .or_default() += 1;
        }
    }
    let users = lanes.users().sum();
    let need = ResourceNeed {
        users,
        at_one_host: at_hosts.into_values().max().unwrap_or(0),
        own_site: prepared.sites.served().next().is_some(),
    };
    shortages(&need, &supply)
}

/// Returns the shortages for this many users of one site, with one connection each.
#[cfg(feature = "cli")]
pub(super) fn for_users(users: u64) -> Vec<Diagnostic> {
    let need = ResourceNeed {
        users,
        at_one_host: users,
        own_site: false,
    };
    shortages(
        &need,
        &ResourceSupply::of_machine(machine::usual_memory(), 1),
    )
}

fn shortages(need: &ResourceNeed, supply: &ResourceSupply) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let each = if need.own_site { 2 } else { 1 };
    let descriptors = need.users * each + OWN_DESCRIPTORS;
    if let Some(limit) = supply.descriptors.filter(|limit| *limit < descriptors) {
        let message = format!(
            "{} users need {} file descriptors or more, and this process may have {}: connections of about {} users \
             will fail with 'out of descriptors'",
            show_count(need.users),
            show_count(descriptors),
            show_count(limit),
            show_count(((descriptors - limit) / each).min(need.users))
        );
        let enough = (need.users * 6 + OWN_DESCRIPTORS).next_power_of_two();
        diagnostics.push(Diagnostic::new(message).help(format!(
            "raise the limit before the run: 'sudo prlimit --pid $$ --nofile={enough}:{enough}' for this shell, \
             '* hard nofile {enough}' in /etc/security/limits.conf for good"
        )));
    }
    if let Some(ports) = supply.ports.filter(|ports| *ports < need.at_one_host) {
        let message = format!(
            "{} users of one host need a local port each, and this machine has {}: connections will fail with 'out \
             of ports'",
            show_count(need.at_one_host),
            show_count(ports)
        );
        diagnostics.push(Diagnostic::new(message).help(
            "allow more: 'sudo sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"'; connect from several \
             addresses of this machine: '--local-address 127.0.0.2,127.0.0.3'",
        ));
    }
    let memory = need.users * PER_USER;
    if let Some(free) = supply.memory.filter(|free| *free < memory) {
        let message = format!(
            "{} users need about {} of memory, and lgoose may take {} ('--memory')",
            show_count(need.users),
            show_size(memory as f64),
            show_size(free as f64)
        );
        diagnostics.push(Diagnostic::new(message).help(
            "run fewer users, share them among machines, or raise '--memory' if this one has more",
        ));
    }
    diagnostics
}

/// Checks that the process may have the few open files that every command needs. A runtime that cannot have its own ends
/// the process with a panic.
///
/// # Errors
/// Trouble that says how to raise the limit.
#[cfg(feature = "cli")]
pub(super) fn descriptors() -> Result<(), Error> {
    machine::can_open_descriptors().map_err(|error| {
        let trouble = Trouble::cannot("open the few files that every command needs");
        let help = "raise the limit on open files, for example with 'ulimit -n 1024'";
        trouble.because(error).help(help).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(users: u64, own_site: bool, supply: &ResourceSupply) -> Vec<String> {
        let need = ResourceNeed {
            users,
            at_one_host: users,
            own_site,
        };
        let diagnostics = shortages(&need, supply);
        diagnostics.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_fits_or_is_not_limited_is_not_reported() {
        assert_eq!(messages(100_000, true, &ResourceSupply::default()), [""; 0]);
        let supply = ResourceSupply {
            descriptors: Some(1_064),
            ports: Some(1_000),
            memory: Some(1 << 30),
        };
        assert_eq!(messages(1_000, false, &supply), [""; 0]);
    }

    #[test]
    fn each_shortage_names_the_limit_and_the_command_that_changes_it() {
        let descriptors = ResourceSupply {
            descriptors: Some(1_024),
            ..ResourceSupply::default()
        };
        let text = messages(2_000, false, &descriptors).concat();
        for word in [
            "2,064",
            "1,024",
            "about 1,040 users",
            "prlimit",
            "nofile 16384",
        ] {
            assert!(text.contains(word), "'{word}' is missing in\n{text}");
        }
        let few = ResourceSupply {
            descriptors: Some(40),
            ..ResourceSupply::default()
        };
        let text = messages(50, false, &few).concat();
        assert!(text.contains("about 50 users"), "no more than run: {text}");
        let text = messages(1_000, true, &descriptors).concat();
        assert!(text.contains("2,064"), "the site's own are counted: {text}");
        let ports = ResourceSupply {
            ports: Some(28_232),
            ..ResourceSupply::default()
        };
        let text = messages(30_000, false, &ports).concat();
        assert!(
            text.contains("28,232") && text.contains("ip_local_port_range"),
            "{text}"
        );
        let memory = ResourceSupply {
            memory: Some(1 << 30),
            ..ResourceSupply::default()
        };
        let text = messages(20_000, false, &memory).concat();
        assert!(text.contains("of memory, and lgoose may take 1"), "{text}");
    }
}
