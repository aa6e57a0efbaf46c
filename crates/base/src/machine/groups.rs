//! Control groups of this process: their folders, from its own group up to the root.

use super::read;

/// The folder of control groups.
pub(super) const ROOT: &str = "/sys/fs/cgroup";

/// The folder of a control group, with the version of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ControlGroup {
    pub(super) folder: String,
    pub(super) version: GroupVersion,
}

/// The two kinds of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupVersion {
    /// One hierarchy for each controller.
    V1,
    /// One for all of them.
    V2,
}

impl ControlGroup {
    /// Reads a file of the group.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        read(&format!("{}/{name}", self.folder))
    }
}

/// The groups that may limit this process by that controller.
pub(super) fn own_groups(controller: &str) -> Vec<ControlGroup> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    groups_below(ROOT, &groups, controller)
}

/// The groups below `root` that may limit a process by that controller, from its own up to the root; `groups` is the kernel's list
/// of those that it is in. A container may see its own group as the root, whatever the list says.
pub(super) fn groups_below(root: &str, groups: &str, controller: &str) -> Vec<ControlGroup> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (above, version) = match (number, controllers) {
            ("0", "") => (root.to_owned(), GroupVersion::V2),
            _ if controllers.split(',').any(|one| one == controller) => {
                (format!("{root}/{controller}"), GroupVersion::V1)
            }
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            let folder = format!("{above}{path}");
            found.push(ControlGroup { folder, version });
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => break,
            }
        }
    }
    found
}

/// `inactive_file 4096` in a file of such lines.
pub(super) fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, number) = lines.find(|(label, _)| *label == name)?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_are_looked_for_up_to_the_root() {
        let folders = |text: &str| -> Vec<String> {
            let groups = groups_below(ROOT, text, "memory").into_iter();
            groups
                .map(|group| format!("{:?} {}", group.version, group.folder))
                .collect()
        };
        assert_eq!(
            folders("8:pids:/\n4:cpu,memory:/a/b\n0::/\n"),
            [
                "V1 /sys/fs/cgroup/memory/a/b",
                "V1 /sys/fs/cgroup/memory/a",
                "V1 /sys/fs/cgroup/memory",
                "V2 /sys/fs/cgroup"
            ]
        );
        assert_eq!(
            folders("0::/user.slice/x:y.scope"),
            [
                "V2 /sys/fs/cgroup/user.slice/x:y.scope",
                "V2 /sys/fs/cgroup/user.slice",
                "V2 /sys/fs/cgroup"
            ]
        );
        assert!(folders("nonsense").is_empty());
        let stat = "anon 5\ninactive_file 4096\ntotal_inactive_file 1\n";
        assert_eq!(counter(stat, "inactive_file"), Some(4_096));
        assert_eq!(counter(stat, "file"), None);
    }
}
