//! Plans that an import has written, beyond what they send for one user.

use crate::faulty::Site;
use crate::program::Lgoose;
use std::path::Path;

/// Holds a plan to it that `lgoose check` takes it, and that two users run it without a failure, against `site` in the place
/// of the one at `address`. `flags` are those that it is run with.
pub(crate) fn hold_for_two_users(
    folder: &Path,
    plan: &str,
    flags: &[String],
    (address, site): (&str, &Site),
) {
    let there = |text: &str| text.replace(address, &format!("127.0.0.1:{}", site.port()));
    std::fs::write(folder.join("plan_of_two.lua"), there(plan)).expect("written");
    let checked = Lgoose::new(["check", "plan_of_two.lua"])
        .within(folder)
        .finish();
    assert_eq!(checked.code, 0, "{plan}\n{}", checked.stderr);
    let mut words = ["plan_of_two.lua", "-u", "2", "-r", "100", "-q"]
        .map(str::to_owned)
        .to_vec();
    words.extend(flags.iter().map(|flag| there(flag)));
    let ran = Lgoose::new(&words).within(folder).finish();
    assert_eq!(ran.code, 0, "{plan}\n{}\n{}", ran.stdout, ran.stderr);
}
