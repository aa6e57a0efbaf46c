//! Tests that this machine cannot run say so aloud, and once more at the end of `cargo test`: see `tests/skipped.rs`.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Says that a test is skipped: what is not tested, and what it wants, such as a package of Debian.
pub(crate) fn skip(what: &str, wants: &str) {
    let line = format!("{what}: {wants}");
    eprintln!("skipped: {line}");
    let list = concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped.txt");
    let list = OpenOptions::new().create(true).append(true).open(list);
    let written = list.and_then(|mut list| list.write_all(format!("{line}\n").as_bytes()));
    written.expect("the folder of tests takes a file");
}

/// Likewise, unless a variable says that what it wants is needed: then the test fails.
pub(crate) fn skip_unless_needed(variable: &str, what: &str, wants: &str) {
    let is_needed = std::env::var_os(variable).is_some();
    assert!(!is_needed, "{what} want {wants}, and {variable} is set");
    skip(what, wants);
}
