//! The report as one HTML page: needs no network, trusts nothing from a plan or a target, is readable without scripts.
//!
//! Tables and static charts are rendered here; `html/*.js` makes the charts interactive and the tables sortable. The
//! data for the scripts is embedded as JSON, one block per name, which is parsed only when it is shown.

mod capacity;
mod charts;
mod comparison;
mod data;
mod distribution;
mod escape;
mod exemplar;
mod summary;
mod table;
mod workers;

use crate::display::facts;
use crate::document::{self, Scope, Table};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
pub(crate) use comparison::comparison;
use escape::text;
use lgoose_metrics::Report;
use sha2::{Digest as _, Sha256};

/// The style sheet and the script of the page.
#[derive(Debug, Clone, Copy)]
struct Assets<'a> {
    style: &'a str,
    script: &'a str,
}

/// The scripts that all pages of lgoose share: creating elements, charts with their axes and data tables, the chart of
/// single names, sortable tables, light and dark mode.
macro_rules! shared {
    () => {
        concat!(
            include_str!("draw.js"),
            include_str!("axis.js"),
            include_str!("behind.js"),
            include_str!("charts.js"),
            include_str!("choice.js"),
            include_str!("names.js"),
            include_str!("sorting.js"),
            include_str!("theme.js"),
        )
    };
}

/// The style sheet and the script that are shipped.
const ASSETS: Assets<'_> = Assets {
    style: STYLE,
    script: concat!(
        "'use strict';\n",
        shared!(),
        include_str!("rows.js"),
        include_str!("page.js")
    ),
};

/// The style of all pages of lgoose.
pub const STYLE: &str = include_str!("report.css");

/// The shared scripts as a module, for a page that has its own scripts as well.
pub const SHARED_MODULE: &str = concat!(shared!(), include_str!("exports.js"));

/// Renders the report as one page that can be opened from a file.
pub(crate) fn to_html(report: &Report) -> String {
    page(report, ASSETS)
}

fn page(report: &Report, assets: Assets<'_>) -> String {
    let Assets { style, script } = assets;
    let title = text(&format!("{} · {}", report.plan, report.host));
    let (head, charts) = (summary::head(report), charts(report));
    let capacity = capacity::section(report);
    let tables = document::tables(report, Scope::Full);
    let contents = contents(report, &tables);
    let sections = sections(report, &tables);
    let data = data::blocks(report);
    let (style_hash, script_hash) = (content_hash(style), content_hash(script));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{style_hash}'; \
         script-src '{script_hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>lgoose · {title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         {head}{contents}<main>\n{capacity}{charts}{sections}</main>\n{data}<script>{script}</script>\n</body>\n</html>\n"
    )
}

/// Returns the Content-Security-Policy hash of the style or the script: browsers run no others, even if one got into
/// the page.
pub fn content_hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text)))
}

/// Renders the links to the parts of the page.
fn contents(report: &Report, tables: &[Table<'_>]) -> String {
    let capacity = report.capacity.as_ref().map(|_| ("capacity", "Capacity"));
    let tables = tables.iter().filter(|table| !table.is_more);
    let tables = tables.map(|table| (table.id, table.title));
    let parts = capacity.into_iter().chain([("charts", "Charts")]);
    let parts = parts.chain(tables).chain([("overview", "Overview")]);
    let links = parts.map(|(id, title)| format!("<a href=\"#{id}\">{title}</a>"));
    format!(
        "<nav aria-label=\"Parts of this page\">{}</nav>\n",
        links.collect::<String>()
    )
}

/// Renders the tables, those with more figures of the requests folded below theirs, and the overview.
fn sections(report: &Report, tables: &[Table<'_>]) -> String {
    let mut out = String::new();
    for tables in tables.chunk_by(|a, b| a.is_more == b.is_more) {
        let sections: String = tables.iter().map(table::section).collect();
        if tables[0].is_more {
            out += &format!(
                "<details id=\"by-name\"><summary>All figures of each name: {}</summary>{sections}</details>\n",
                tables
                    .iter()
                    .map(|table| table.title.to_lowercase())
                    .collect::<Vec<_>>()
                    .join(", ")
            );
        } else {
            out += &sections;
        }
    }
    out + &format!(
        "<section id=\"overview\">\n<h2>Overview</h2>\n{}</section>\n",
        table::facts(&facts(report))
    )
}

/// Renders the static charts, as the page has them without scripts.
fn charts(report: &Report) -> String {
    let mut note = String::new();
    if report.series.iter().any(|point| point.generator.saturated) {
        note += "<p class=\"note hatched\">Hatched: lgoose itself was the bottleneck there (a thread had no time left, \
                 or came late). Latencies of that time are partly its own.</p>\n";
    }
    if report.thresholds.iter().any(|row| row.broken_s.is_some()) {
        note += "<p class=\"note dashed\">Dashed: a threshold broke at that moment.</p>\n";
    }
    let figure = |id: &str, title: &str, wide: bool, plot: &str| {
        let class = if wide { "chart wide" } else { "chart" };
        format!(
            "<figure class=\"{class}\" id=\"{id}\"><figcaption><h3>{title}</h3></figcaption>\
             <div class=\"plot\">{plot}</div></figure>\n"
        )
    };
    let by_name = if report.requests.iter().any(|row| !row.series.is_empty()) {
        let none = "<p class=\"note\">Lines of single names need scripts; their figures are in the tables.</p>";
        figure("chart-names", "By name", true, none)
    } else {
        String::new()
    };
    let heat = if report
        .series
        .iter()
        .any(|point| !point.histogram.is_empty())
    {
        let none =
            "<p class=\"note\">How many requests took how long at each moment needs scripts.</p>";
        figure("chart-heat", "Heatmap of latencies", true, none)
    } else {
        String::new()
    };
    let by_label = workers::label_charts(report).into_iter();
    let by_label: String = by_label
        .map(|(id, title, plot)| figure(id, title, false, &plot))
        .collect();
    format!(
        "<section id=\"charts\" aria-label=\"Charts\">\n{note}<div class=\"charts\">\n{}{}{}{}{heat}{by_label}{by_name}{}</div>\n</section>\n",
        figure(
            "chart-rate",
            "Requests per second",
            false,
            &charts::request_rate(report)
        ),
        figure(
            "chart-latency",
            "Latency over time",
            false,
            &charts::latency(report)
        ),
        figure(
            "chart-errors",
            "Failures per second",
            false,
            &charts::failure_rate(report)
        ),
        figure("chart-users", "Users", false, &charts::users(report)),
        figure(
            "chart-spread",
            "Distribution of latencies",
            true,
            &charts::distribution(report)
        ),
    )
}

#[cfg(test)]
mod tests;
