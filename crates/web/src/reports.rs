//! The report so far in each format, and that of the run which is over.

use super::responses::WebResult;
use super::site::WebState;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use lgoose_metrics::{Detail, Report};
use lgoose_plan::config::Format;
use std::sync::Arc;

/// A policy for a report that is a page: its own holds, and it is a stranger to this server.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox allow-scripts allow-downloads");

/// Returns the ending and the type of a report's file.
pub(super) fn file(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Json => ("json", "application/json"),
        Format::Yaml => ("yaml", "application/yaml"),
        Format::Csv => ("csv", "text/csv; charset=utf-8"),
        Format::Hdr => ("hdr", "text/plain; charset=utf-8"),
        Format::Html => ("html", "text/html; charset=utf-8"),
        Format::Md => ("md", "text/markdown; charset=utf-8"),
        Format::Junit => ("xml", "application/xml"),
    }
}

/// Returns the report with the verdict of now, unless it has its own.
pub(super) fn judged(report: Arc<Report>) -> Arc<Report> {
    match report.verdict {
        Some(_) => report,
        None => Arc::new(Report {
            verdict: Some(lgoose_judgement::judge(&report, None)),
            ..(*report).clone()
        }),
    }
}

/// `GET /api/v1/report.…`.
pub(super) async fn report(site: Arc<WebState>, format: Format) -> WebResult {
    let rendered = site.render(Detail::Live, move |report| {
        let rendered = lgoose_report::render(&judged(report), format);
        rendered.map_err(|error| error.text())
    });
    Ok(respond("report", format, rendered.await?))
}

/// Responds with a file of that name and format.
pub(super) fn respond(name: &str, format: Format, bytes: Vec<u8>) -> Response {
    let (ending, kind) = file(format);
    let disposition = format!("inline; filename=\"{name}.{ending}\"");
    let mut response = ([(CONTENT_TYPE, kind)], bytes).into_response();
    let headers = response.headers_mut();
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    if format == Format::Html {
        headers.insert(CONTENT_SECURITY_POLICY, SANDBOX);
    }
    response
}
