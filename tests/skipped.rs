//! The last of the tests: says what was skipped, what those tests want, and which tests 'cargo test' leaves out.

use std::collections::BTreeSet;
use std::fs;

#[expect(
    clippy::print_stdout,
    reason = "it is what the reader of 'cargo test' sees last"
)]
fn main() {
    let list = concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped.txt");
    let text = fs::read_to_string(list).unwrap_or_default();
    let lines: BTreeSet<&str> = text.lines().collect();
    match lines.len() {
        0 => println!("\nno test was skipped"),
        1 => println!("\n1 kind of test was skipped:"),
        kinds => println!("\n{kinds} kinds of tests were skipped:"),
    }
    for line in lines {
        println!("  {line}");
    }
    println!(
        "'just test-all' also runs the tests that take long: judges, clusters, figures against logs, the client reqwest"
    );
    // The next run begins anew.
    let _absent = fs::remove_file(list);
}
