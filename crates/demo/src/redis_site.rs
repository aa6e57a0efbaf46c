//! The store of keys as a site, which has no pages.

use http::{Method, StatusCode};

use super::redis::{LABELS, Redis};
use super::server::{Handler, SiteRequest, SiteResponse, plain};

/// The site.
#[derive(Default)]
pub(super) struct RedisSite(Redis);

impl Handler for RedisSite {
    fn labels(&self) -> &'static [&'static str] {
        &LABELS
    }

    fn label(&self, _: &Method, _: &str) -> &'static str {
        "other"
    }

    fn respond(&self, _: &SiteRequest<'_>) -> SiteResponse {
        plain(StatusCode::NOT_FOUND, "This site speaks no HTTP.\n")
    }

    fn redis(&self) -> Option<&Redis> {
        Some(&self.0)
    }
}
