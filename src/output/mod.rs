//! Outputs: each file renders a [`Report`](crate::metrics::Report) in one format and knows nothing else. Names and
//! texts come from plans and targets, so each format escapes them in its own way.

pub(crate) mod csv;
mod display;
pub(crate) mod document;
pub(crate) mod hdr;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod log;
pub(crate) mod markdown;
pub(crate) mod text;
pub(crate) mod verdict;
pub(crate) mod yaml;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

#[cfg(feature = "cli")]
use crate::compare::Comparison;
use crate::config::Format;
use crate::error::Error;
use crate::metrics::Report;
pub(crate) use display::{Diagnosis, cut_apart, cut_middle, measured_until_now};
pub(crate) use verdict::judge;

/// Renders a comparison in HTML, Markdown or JSON; any other format is taken for JSON.
///
/// # Errors
/// None that a comparison made by lgoose can cause.
#[cfg(feature = "cli")]
pub(crate) fn render_comparison(comparison: &Comparison, format: Format) -> Result<String, Error> {
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
/// use lgoose::report::{Format, Report, render};
///
/// # fn main() -> Result<(), lgoose::Error> {
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
