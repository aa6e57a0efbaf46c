//! Memory: the size and the free part of the machine's and its control groups', and the use of this process.

use super::groups::{GroupVersion, counter, own_groups};
use super::{cores, read};
use rustix::process::{Resource, getrlimit};

/// Memory that is left free at least: the growth of a run until it is noticed, and until its users have ended.
const SPARE_MEMORY: u64 = 64 << 20;

/// The same for each core, whose users grow at the same time.
const SPARE_PER_CORE: u64 = 32 << 20;

/// Bytes of memory that are available without swapping.
fn available_memory() -> Option<u64> {
    amount(&read("/proc/meminfo")?, "MemAvailable:")
}

/// Bytes of memory that the machine has.
pub fn total_memory() -> Option<u64> {
    amount(&read("/proc/meminfo")?, "MemTotal:")
}

/// Bytes of memory that this process has now.
pub fn taken_memory() -> Option<u64> {
    // Size and resident part in pages; short, and so read with less work than 'status'.
    let pages = read("/proc/self/statm")?;
    let resident = pages.split(' ').nth(1)?.parse::<u64>().ok()?;
    resident.checked_mul(rustix::param::page_size() as u64)
}

/// Bytes of memory that a run may take by default: all that there is, less where the address space is limited ('ulimit
/// -v') and the kernel would refuse more.
pub fn usual_memory() -> Option<u64> {
    let most = memory_there_is()?;
    match addresses() {
        Some(more) => Some(most.min(taken_memory()?.saturating_add(more))),
        None => Some(most),
    }
}

/// Bytes of memory that this process may take before the kernel would have to end one: nine tenths of the memory of the
/// machine or its control group, and of the free memory together with the process's own; less where little is free.
pub(crate) fn memory_there_is() -> Option<u64> {
    let (limit, used) = group_memory().unwrap_or((u64::MAX, 0));
    let total = total_memory()?.min(limit);
    let free = available_memory()?.min(limit.saturating_sub(used));
    let most = taken_memory()?.saturating_add(usable(free));
    Some(most.min(usable(total)))
}

/// Returns the usable part of free memory: nine tenths, but not the part that must stay free for each core; at least
/// half.
fn usable(free: u64) -> u64 {
    let spare = SPARE_MEMORY + cores() as u64 * SPARE_PER_CORE;
    free - spare.max(free / 10).min(free / 2)
}

/// Bytes of memory that the limit on the address space leaves in addition to the process's own; `None` without a limit.
/// A third of the addresses: between large pieces of memory, the allocator leaves up to twice as many unused.
fn addresses() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let status = read("/proc/self/status")?;
    Some(free_addresses(&status, limit)? / 3)
}

/// Returns the addresses that are left, and those that the allocator has reserved at once and not used yet.
fn free_addresses(status: &str, limit: u64) -> Option<u64> {
    let size = amount(status, "VmSize:")?;
    let data = amount(status, "VmData:")?;
    let reserved = data.saturating_sub(amount(status, "VmRSS:")?);
    Some(limit.saturating_sub(size).saturating_add(reserved))
}

/// The limit on memory of this process's control group with the least left, and its used part: the memory that its
/// processes hold, without the kernel's cache of files, which it gives up when it has to. `None` without a limit.
fn group_memory() -> Option<(u64, u64)> {
    let limits = own_groups("memory").into_iter().filter_map(|group| {
        let (limit, used, cache) = match group.version {
            GroupVersion::V1 => (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
            GroupVersion::V2 => ("memory.max", "memory.current", "inactive_file"),
        };
        let limit = group.read(limit)?.trim().parse::<u64>().ok()?;
        let used = group.read(used)?.trim().parse::<u64>().ok()?;
        let stat = group.read("memory.stat");
        let cache = stat.and_then(|text| counter(&text, cache));
        Some((limit, used.saturating_sub(cache.unwrap_or(0))))
    });
    limits.min_by_key(|(limit, used)| limit.saturating_sub(*used))
}

/// `MemTotal:       16384 kB`.
fn amount(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        let amounts = "MemTotal:       16384 kB\nMemAvailable:    8 kB\n";
        assert_eq!(amount(amounts, "MemTotal:"), Some(16 << 20));
        assert_eq!(amount(amounts, "MemFree:"), None);
    }

    #[test]
    fn little_memory_stays_free_in_part_and_of_much_a_tenth_does() {
        const MIB: u64 = 1 << 20;
        let cores = cores() as u64;
        let spare = 64 * MIB + cores * 32 * MIB;
        assert_eq!(usable(0), 0);
        assert_eq!(usable(spare), spare / 2);
        assert_eq!(usable(4 * spare), 3 * spare);
        assert_eq!(usable(20 * spare), 18 * spare);
    }

    #[test]
    fn reserved_addresses_are_free_like_those_that_were_never_requested() {
        let status = "VmSize:  1200 kB\nVmRSS:  30 kB\nVmData:  1030 kB\n";
        assert_eq!(free_addresses(status, 1_500 << 10), Some(1_300 << 10));
        assert_eq!(free_addresses(status, 1_000 << 10), Some(1_000 << 10));
        assert_eq!(free_addresses("VmSize:  1 kB\n", 1 << 20), None);
    }

    #[test]
    fn what_a_process_may_take_is_more_than_it_has_and_less_than_the_machine_has() {
        let (Some(usual), Some(taken)) = (usual_memory(), taken_memory()) else {
            // Another system than Linux.
            return;
        };
        assert!(taken > 1 << 20 && taken < usual, "{taken} {usual}");
        assert!(Some(usual) < total_memory());
    }
}
