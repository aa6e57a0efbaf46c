//! Pages, assets and calls.

use crate::exchange::ExchangeKind;

/// Returns the purpose of a request, which Chromium records and the headers of all browsers show.
pub(super) fn kind(
    resource_type: Option<&str>,
    method: &str,
    headers: &[(String, String)],
    media: &str,
    status: u16,
) -> ExchangeKind {
    let header = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let destination = header("sec-fetch-dest");
    let is_script = header("x-requested-with").is_some();
    match (resource_type, destination) {
        (_, Some("iframe" | "frame" | "embed" | "object")) => return ExchangeKind::Call,
        (_, Some("document")) | (Some("document"), _) => return ExchangeKind::Page,
        (Some("xhr" | "fetch"), _) | (_, Some("empty")) => return ExchangeKind::Call,
        (
            Some("stylesheet" | "image" | "font" | "script" | "media" | "manifest" | "texttrack"),
            _,
        )
        | (
            _,
            Some(
                "style" | "image" | "font" | "script" | "audio" | "video" | "track" | "manifest"
                | "worker",
            ),
        ) if method == "GET" => {
            return ExchangeKind::Asset;
        }
        _ => {}
    }
    let group = media.split('/').next().unwrap_or_default();
    let is_asset = matches!(group, "image" | "font" | "audio" | "video")
        || matches!(
            media,
            "text/css" | "application/wasm" | "application/manifest+json"
        )
        || media.contains("javascript")
        || media.contains("font");
    let requests_page = header("accept").is_some_and(|accept| accept.starts_with("text/html"));
    let is_page = matches!(media, "text/html" | "application/xhtml+xml")
        || (requests_page && ((300..400).contains(&status) || status == 204));
    if is_script {
        ExchangeKind::Call
    } else if is_asset && method == "GET" {
        ExchangeKind::Asset
    } else if is_page {
        ExchangeKind::Page
    } else {
        ExchangeKind::Call
    }
}
