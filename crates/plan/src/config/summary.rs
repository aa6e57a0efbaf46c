//! How much of a run the tables at its end show.

/// How much the tables at the end of a run show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SummaryExtent {
    /// What fits a screen: the requests, and whatever went wrong.
    #[default]
    Short,
    /// All tables.
    Full,
}

impl SummaryExtent {
    /// Reads `short` or `full`.
    ///
    /// # Errors
    /// A sentence that quotes the text and names both.
    pub fn parse(text: &str) -> Result<SummaryExtent, String> {
        match text {
            "short" => Ok(SummaryExtent::Short),
            "full" => Ok(SummaryExtent::Full),
            _ => Err(format!("'{text}' is no summary: write 'short' or 'full'")),
        }
    }
}
