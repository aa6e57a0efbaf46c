//! How much of a run its report tells, which is chosen by whoever asks for one and obeyed by the store.

/// How much a report tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Everything.
    Whole,
    /// What live views need: no latencies of points over time.
    Live,
    /// What metrics need: no points over time of names either, whose number grows with the run.
    #[cfg_attr(
        not(any(test, feature = "web")),
        expect(dead_code, reason = "metrics are asked for over HTTP")
    )]
    Totals,
}
