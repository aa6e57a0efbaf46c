//! Levels of detail of a report, chosen by its reader.

/// Level of detail of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Whole,
    /// For live views: no latencies of points over time.
    Live,
    /// For the pages of the terminal view: no figures by tag either, since a page requests those of one tag at a time.
    Pages,
    /// For exported metrics: no points over time either, whose number grows with the run, and no figures by
    /// tag.
    Totals,
}
