//! How much of a run a report tells. Whoever asks for a report chooses it, and the store obeys.

/// How much a report tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Whole,
    /// What live views need: no latencies of points over time.
    Live,
    /// What the pages of the terminal view need: no figures by tag either, since a page asks for those of one tag at
    /// a time.
    Pages,
    /// What exported metrics need: no points over time either, whose number grows with the run, and no figures by
    /// tag.
    Totals,
}
