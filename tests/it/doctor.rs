//! `lgoose doctor` and `lgoose --version`: what this machine is, and what this lgoose is.

use crate::program::Lgoose;

#[test]
fn what_the_machine_has_is_told_and_what_it_lacks_decides_the_exit_code() {
    let few = Lgoose::new(["doctor", "-u", "1"]).finish();
    assert_eq!(few.code, 0, "{few:?}");
    for what in [
        "cores",
        "memory",
        "descriptors",
        "local ports",
        "timers",
        "broker",
    ] {
        let told = few
            .stdout
            .lines()
            .filter(|line| line.contains(&format!(" {what} ")));
        assert_eq!(told.count(), 1, "{what} in\n{}", few.stdout);
    }
    assert!(few.stdout.contains("✓ 1 users"), "{}", few.stdout);
    let many = Lgoose::new(["doctor", "--users", "900000"]).finish();
    assert_eq!(many.code, 1, "{many:?}");
    assert!(
        many.stdout.contains("✗ 900,000 users: ") && many.stdout.contains("ip_local_port_range"),
        "{}",
        many.stdout
    );
    let none = Lgoose::new(["doctor", "-u", "0"]).finish();
    assert_eq!(none.code, 2, "{none:?}");
}

#[test]
fn the_version_tells_what_lgoose_is_made_of() {
    let short = Lgoose::new(["-V"]).finish();
    assert_eq!(
        short.stdout,
        format!("lgoose {}\n", env!("CARGO_PKG_VERSION"))
    );
    let long = Lgoose::new(["--version"]).finish();
    assert!(long.stdout.starts_with(&short.stdout), "{}", long.stdout);
    for part in [
        "\ncommit: ",
        "\nbuild: ",
        "\nLua 5.4: lua-src ",
        "mlua ",
        "\nTLS: rustls ",
        "ring ",
    ] {
        assert!(long.stdout.contains(part), "{part} in\n{}", long.stdout);
    }
}
