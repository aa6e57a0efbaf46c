//! Tells the program what it is made of, for `lgoose --version`: the commit, the target, and versions of what it embeds.

use std::fmt::Write as _;
use std::process::Command;

/// Packages whose versions are told: each with what it is to a user.
const EMBEDDED: [(&str, &[&str]); 2] = [
    ("Lua 5.4", &["lua-src", "mlua"]),
    ("TLS", &["rustls", "ring"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-env-changed=LGOOSE_COMMIT");
    println!("cargo::rerun-if-env-changed=LGOOSE_GUIDED");
    let profile = std::env::var("PROFILE").unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    // benches/pgo.sh sets it for the build that a profile guides.
    let guided = match std::env::var_os("LGOOSE_GUIDED") {
        Some(_) => "guided by a profile",
        None => "not guided by a profile",
    };
    let commit = commit(&profile);
    let mut told = format!("\ncommit: {commit}\nbuild: {profile}, {guided}, {target}");
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    for (what, packages) in EMBEDDED {
        let versions = packages.iter().filter_map(|name| {
            let version = version(&lock, name)?;
            Some(format!("{name} {version}"))
        });
        let versions: Vec<String> = versions.collect();
        // Writing to a string cannot fail.
        let _infallible = write!(told, "\n{what}: {}", versions.join(", "));
    }
    // A value is one line.
    println!(
        "cargo::rustc-env=LGOOSE_BUILD={}",
        told.replace('\n', "\\n")
    );
}

/// Returns the commit of the sources: what `LGOOSE_COMMIT` says, else what git knows. A debug build does not ask, so that a
/// commit does not make it build anew.
fn commit(profile: &str) -> String {
    if let Ok(given) = std::env::var("LGOOSE_COMMIT") {
        return given;
    }
    if profile == "debug" {
        return "not told by a debug build".to_owned();
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns what git prints; `None` if it fails, as outside of a clone.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns the version of a package in a lock file.
fn version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    rest.split('"').next()
}
