//! Outputs: each file renders a [`Report`](crate::metrics::Report) in one format and knows nothing else. Names and
//! texts come from plans and targets: every format escapes them in its own way.

pub(crate) mod csv;
mod display;
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
#[cfg(feature = "cli")]
pub(crate) use display::is_echo;
pub(crate) use verdict::judge;

/// Renders a comparison in one of the formats that it can be written in; any other is taken for JSON.
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

/// Renders a report in one format. Of CSV these are the rows of names; the series is a file of its own.
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
/// Trouble with a histogram that cannot be read; only a file that was changed by hand has one.
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
