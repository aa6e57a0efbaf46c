//! Shows lgoose as a Rust library: a plan from a string, a run of it, and its report.
//!
//!     cargo run --example embed

#![allow(clippy::print_stdout, reason = "an example may print")]

use lgoose::{Error, Report, Test};
use std::time::Duration;

const PLAN: &str = r#"
    plan { thresholds = { "p95 < 2s" } }

    task { "product", wait = 0.1, function(user)
      local answer = user:get("/api/products/" .. random.int(1, 100))
      check(answer:json().price > 0, "a product has a price")
    end }
"#;

pub(crate) fn measure() -> Result<Report, Error> {
    Test::from_source(PLAN)
        .host("demo:api") // or your own "http://127.0.0.1:8080"
        .users(5)
        .hatch_rate(50.0)
        .run_time(Duration::from_secs(1))
        .run()
}

fn main() -> Result<(), Error> {
    let report = measure()?;
    let all = &report.aggregated;
    let p95 = all.latency_ms.map_or(0.0, |latency| latency.p95);
    println!(
        "{} requests, {} failed, p95 {p95:.2} ms",
        all.count, all.failures
    );
    for limit in &report.thresholds {
        println!("{}: {}", limit.threshold, limit.passed);
    }
    Ok(())
}
