//! How much of a run its report tells, which is chosen by whoever asks for one and obeyed by the store.

/// How much a report tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Everything.
    Whole,
    /// What live views need: no latencies of points over time.
    Live,
    /// What the pages of a terminal need: no figures by tag either, of which they ask for one at a time.
    Pages,
    /// What metrics need: no points over time either, whose number grows with the run, nor figures by tag.
    #[cfg_attr(
        not(any(test, feature = "otlp", feature = "web")),
        expect(dead_code, reason = "metrics are asked for from outside")
    )]
    Totals,
}
