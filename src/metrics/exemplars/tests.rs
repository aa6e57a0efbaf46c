//! Tests of which failures are kept and how their headers are masked.

use super::*;

fn exemplar(start_ns: u64, latency_ms: f64) -> Arc<Exemplar> {
    Arc::new(Exemplar {
        start_ns,
        user: 1,
        scenario: String::new(),
        task: String::new(),
        method: "GET".to_owned(),
        url: String::new(),
        final_url: String::new(),
        status: 500,
        latency_ms,
        phases_ms: PhasesMs::default(),
        request_headers: Vec::new(),
        response_headers: Vec::new(),
        body: String::new(),
        body_bytes: 0,
    })
}

fn kept(of: &[(u64, f64)]) -> Exemplars {
    let mut exemplars = Exemplars::default();
    for (start_ns, latency_ms) in of {
        exemplars.add(exemplar(*start_ns, *latency_ms));
    }
    exemplars
}

fn shown(exemplars: &Exemplars) -> Vec<(u64, f64)> {
    let list = exemplars.list();
    list.iter()
        .map(|one| (one.start_ns, one.latency_ms))
        .collect()
}

#[test]
fn the_first_and_the_slowest_three_are_kept() {
    let all = [(5, 1.0), (6, 9.0), (7, 2.0), (8, 7.0), (9, 8.0)];
    assert_eq!(shown(&kept(&all)), [(5, 1.0), (6, 9.0), (9, 8.0), (8, 7.0)]);
    assert_eq!(shown(&kept(&[(5, 9.0)])), [(5, 9.0)], "once");
}

#[test]
fn shards_merged_in_any_order_keep_the_same() {
    let (one, other) = (
        [(5, 1.0), (7, 4.0), (9, 3.0)],
        [(4, 2.0), (6, 5.0), (8, 0.5)],
    );
    for (first, second) in [(one, other), (other, one)] {
        let mut merged = kept(&first);
        merged.merge(&kept(&second));
        assert_eq!(shown(&merged), [(4, 2.0), (6, 5.0), (7, 4.0), (9, 3.0)]);
    }
}

#[test]
fn credentials_in_headers_are_masked() {
    for (name, value, expected) in [
        ("Cookie", "a=1; b=x=y; odd", "a=***; b=***; ***"),
        (
            "set-cookie",
            "sid=1; Path=/; HttpOnly",
            "sid=***; Path=/; HttpOnly",
        ),
        ("set-cookie", "sid=1", "sid=***"),
        ("authorization", "Bearer abc", "Bearer ***"),
        ("Proxy-Authorization", "abc", "***"),
        ("x-csrf-token", "abc", "***"),
        ("X-Api-Key", "abc", "***"),
        ("www-authenticate", "Basic realm=\"a\"", "Basic realm=\"a\""),
        ("content-type", "text/html", "text/html"),
    ] {
        assert_eq!(masked(name, value), expected, "{name}: {value}");
    }
}

#[test]
fn what_is_kept_of_a_message_is_bounded() {
    let many: Vec<(String, Vec<u8>)> = (0..1_000)
        .map(|n| (format!("x-{n}"), vec![b'v'; 2_000]))
        .collect();
    let lines = header_lines(&many, MOST_HEADERS);
    assert!(
        lines.len() <= MOST_HEADERS && lines.starts_with("x-0: vvv"),
        "{}",
        lines.len()
    );
    assert_eq!(
        start_of_bytes("a\u{e4}".as_bytes(), 2),
        "a",
        "no half of a character"
    );
    assert_eq!(start_of_bytes(b"a\xff", 9), "a\u{fffd}");
}
