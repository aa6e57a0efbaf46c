//! The limit on processor time that a control group sets, as that of a container, and the number and duration of the
//! kernel's throttling for it.

use super::groups::{ControlGroup, GroupVersion, counter, own_groups};
use std::time::Duration;

/// A limit on processor time.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuLimit {
    /// The number of cores that may be used, such as 0.5.
    pub cores: f64,
    group: ControlGroup,
}

/// The throttling of a control group since it was made, all cores together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// The number of throttled periods.
    pub times: u64,
    /// The throttled time.
    pub time: Duration,
}

/// Returns the lowest limit of the control groups of this process; `None` without a limit.
pub fn cpu_limit() -> Option<CpuLimit> {
    lowest(own_groups("cpu"))
}

fn lowest(groups: Vec<ControlGroup>) -> Option<CpuLimit> {
    let limits = groups.into_iter().filter_map(CpuLimit::of);
    limits.min_by(|a, b| f64::total_cmp(&a.cores, &b.cores))
}

impl CpuLimit {
    fn of(group: ControlGroup) -> Option<CpuLimit> {
        let cores = match group.version {
            GroupVersion::V1 => {
                let number = |name| group.read(name)?.trim().parse::<i64>().ok();
                share(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)?
            }
            GroupVersion::V2 => share_of(&group.read("cpu.max")?)?,
        };
        Some(CpuLimit { cores, group })
    }

    /// Returns the kind of the control group that sets it.
    pub fn version(&self) -> GroupVersion {
        self.group.version
    }

    /// Returns the throttling of the group; `None` where the kernel does not report it.
    pub fn held_back(&self) -> Option<HeldBack> {
        let stat = self.group.read("cpu.stat")?;
        let time = match self.group.version {
            GroupVersion::V1 => Duration::from_nanos(counter(&stat, "throttled_time")?),
            GroupVersion::V2 => Duration::from_micros(counter(&stat, "throttled_usec")?),
        };
        let times = counter(&stat, "nr_throttled")?;
        Some(HeldBack { times, time })
    }
}

/// Reads `QUOTA PERIOD` in microseconds; `max` is no limit.
fn share_of(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace().map(str::parse::<i64>);
    share(numbers.next()?.ok()?, numbers.next()?.ok()?)
}

/// Returns how many cores a quota of a period is; one below zero is no limit.
fn share(quota: i64, period: i64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::super::groups::groups_below;
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    /// Path and text of a file.
    type File = (&'static str, &'static str);
    /// Cores of the limit, the kind of its group, and the number and milliseconds of its throttling.
    type Limit = (f64, GroupVersion, Option<(u64, u128)>);

    /// Makes a folder of control groups with these files.
    fn groups(files: &[File]) -> TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        root
    }

    /// Returns the lowest limit, the kind of its group, and the number and milliseconds of its throttling.
    fn found(files: &[File], list: &str) -> Option<Limit> {
        let root = groups(files);
        let root = root.path().to_str().expect("UTF-8");
        let limit = lowest(groups_below(root, list, "cpu"))?;
        let held = limit.held_back();
        let held = held.map(|held| (held.times, held.time.as_millis()));
        Some((limit.cores, limit.version(), held))
    }

    #[test]
    fn the_lowest_limit_counts_wherever_it_is_set() {
        const STAT: &str = "usage_usec 9\nnr_periods 40\nnr_throttled 12\nthrottled_usec 3500000\n";
        const OLD_STAT: &str = "nr_periods 40\nnr_throttled 7\nthrottled_time 2500000000\n";
        let held = Some((12, 3_500));
        let old_held = Some((7, 2_500));
        let cases: [(&[File], &str, Option<Limit>); 16] = [
            // A container that sees its group as the root.
            (
                &[("cpu.max", "50000 100000\n"), ("cpu.stat", STAT)],
                "0::/\n",
                Some((0.5, GroupVersion::V2, held)),
            ),
            (
                &[("cpu.max", "max 100000\n"), ("cpu.stat", STAT)],
                "0::/\n",
                None,
            ),
            (
                &[("a/b/cpu.max", "150000 100000"), ("a/b/cpu.stat", STAT)],
                "0::/a/b\n",
                Some((1.5, GroupVersion::V2, held)),
            ),
            // That of the group above is lower.
            (
                &[
                    ("a/b/cpu.max", "400000 100000"),
                    ("a/cpu.max", "20000 100000"),
                    ("a/cpu.stat", STAT),
                ],
                "0::/a/b\n",
                Some((0.2, GroupVersion::V2, held)),
            ),
            (
                &[
                    ("a/cpu.max", "25000 50000"),
                    ("a/b/cpu.max", "max 100000"),
                    ("a/cpu.stat", STAT),
                ],
                "0::/a/b\n",
                Some((0.5, GroupVersion::V2, held)),
            ),
            // The path is that of the host, which the container does not see.
            (
                &[("cpu.max", "300000 100000"), ("cpu.stat", STAT)],
                "0::/docker/0123\n",
                Some((3.0, GroupVersion::V2, held)),
            ),
            (
                &[("cpu.max", "50000 100000\n")],
                "0::/\n",
                Some((0.5, GroupVersion::V2, None)),
            ),
            (
                &[
                    ("cpu.max", "50000 100000\n"),
                    ("cpu.stat", "usage_usec 9\n"),
                ],
                "0::/\n",
                Some((0.5, GroupVersion::V2, None)),
            ),
            // Version 1.
            (
                &[
                    ("cpu/a/cpu.cfs_quota_us", "20000\n"),
                    ("cpu/a/cpu.cfs_period_us", "100000\n"),
                    ("cpu/a/cpu.stat", OLD_STAT),
                ],
                "4:cpu,cpuacct:/a\n0::/\n",
                Some((0.2, GroupVersion::V1, old_held)),
            ),
            (
                &[
                    ("cpu/cpu.cfs_quota_us", "-1\n"),
                    ("cpu/cpu.cfs_period_us", "100000\n"),
                ],
                "1:cpu:/\n",
                None,
            ),
            (
                &[
                    ("cpu/cpu.cfs_quota_us", "50000\n"),
                    ("cpu/cpu.cfs_period_us", "100000\n"),
                    ("cpu/cpu.stat", OLD_STAT),
                ],
                "1:cpu:/docker/0123\n",
                Some((0.5, GroupVersion::V1, old_held)),
            ),
            // Both kinds.
            (
                &[
                    ("cpu.max", "100000 100000"),
                    ("cpu/a/cpu.cfs_quota_us", "20000"),
                    ("cpu/a/cpu.cfs_period_us", "100000"),
                    ("cpu/a/cpu.stat", OLD_STAT),
                ],
                "4:cpu:/a\n0::/\n",
                Some((0.2, GroupVersion::V1, old_held)),
            ),
            (&[], "0::/\n", None),
            (&[], "", None),
            (&[("cpu.max", "50000 0\n")], "0::/\n", None),
            (&[("cpu.max", "nonsense\n")], "0::/\n", None),
        ];
        for (files, list, expected) in cases {
            assert_eq!(found(files, list), expected, "{files:?} {list}");
        }
    }
}
