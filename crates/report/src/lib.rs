//! Outputs: each file renders a [`Report`] in one format and knows nothing else. Names and
//! texts come from plans and targets, so each format escapes them in its own way.
//!
//! Used by the program, by the views (`tui`, `web`) and by `otlp`. It draws and decides nothing: verdict and diagnosis come
//! from `judgement`.
//!
//! ```
//! use lgoose_metrics::Report;
//! use lgoose_report::text::{TableOptions, tables};
//!
//! let shown = tables(&Report::default(), 80, TableOptions::default());
//! assert!(shown.lines().all(|line| line.chars().count() <= 80));
//! ```

pub mod csv;
mod display;
pub mod document;
pub(crate) mod hdr;
pub mod html;
pub mod json;
pub(crate) mod junit;
pub mod log;
pub(crate) mod markdown;
pub mod telemetry;
pub mod text;
pub(crate) mod yaml;

#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
#[cfg(test)]
mod tests;

use lgoose_base::error::Error;
use lgoose_metrics::Report;
use lgoose_metrics::compare::Comparison;
use lgoose_plan::config::Format;

/// Renders a comparison in HTML, Markdown or JSON; any other format is taken for JSON.
///
/// # Errors
/// None that a comparison made by lgoose can cause.
pub fn render_comparison(comparison: &Comparison, format: Format) -> Result<String, Error> {
    match format {
        Format::Html => Ok(html::comparison(comparison)),
        Format::Md => Ok(markdown::comparison(comparison)),
        _ => json::comparison(comparison),
    }
}

/// Renders a report in one format. For CSV, this is the table of names; the series belongs in a second file and is left
/// out.
///
/// ```
/// use lgoose_metrics::Report;
/// use lgoose_plan::config::Format;
/// use lgoose_report::render;
///
/// # fn main() -> Result<(), lgoose_base::error::Error> {
/// let json = render(&Report::default(), Format::Json)?;
/// assert!(json.starts_with(b"{"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns trouble if a histogram cannot be read, which happens only in a report that was edited by hand.
pub fn render(report: &Report, format: Format) -> Result<Vec<u8>, Error> {
    let text = match format {
        Format::Json => json::to_json(report)?,
        Format::Yaml => yaml::to_yaml(report)?,
        Format::Csv => csv::names(report)?,
        Format::Hdr => return hdr::to_log(report),
        Format::Html => html::to_html(report),
        Format::Md => markdown::to_markdown(report),
        Format::Junit => junit::to_junit(report)?,
    };
    Ok(text.into_bytes())
}
