//! Simulated workers for one run: `gaggle URL WORKERS REQUESTS`, the requests each a second. Prints how many requests they
//! have delivered, and by how many milliseconds a delivery was late at most; `benches/gaggle.sh` compares that with the manager's report.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]

fn main() -> Result<(), lgoose::Error> {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let url = arguments.next().unwrap_or_default();
    let mut number = |usual| {
        arguments
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let (workers, requests) = (number(1_000), number(1_000));
    let [delivered, late_ms] = lgoose_gaggle::simulate(&url, workers, requests)?;
    println!("{delivered} {late_ms}");
    Ok(())
}
