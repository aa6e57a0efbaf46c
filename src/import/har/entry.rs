//! An entry of a HAR file, as far as it is read. Browsers leave out fields and write `null`: hardly any is required.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(default)]
    pub(super) started_date_time: Option<String>,
    #[serde(default, deserialize_with = "number")]
    pub(super) time: Option<f64>,
    #[serde(default, deserialize_with = "timings")]
    pub(super) timings: Option<Timings>,
    pub(super) request: Request,
    #[serde(default)]
    pub(super) response: Option<Response>,
    /// Of Chromium.
    #[serde(default, rename = "_resourceType")]
    pub(super) resource_type: Option<String>,
    #[serde(default, rename = "_fromCache")]
    pub(super) from_cache: Option<String>,
}

/// The parts of its time, in milliseconds.
#[derive(Deserialize)]
pub(super) struct Timings {
    #[serde(default, deserialize_with = "number")]
    pub(super) receive: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<Header>,
    #[serde(default)]
    pub(super) post_data: Option<PostData>,
}

#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default)]
    pub(super) mime_type: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) params: Option<Vec<Param>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Param {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: Option<String>,
    #[serde(default)]
    pub(super) file_name: Option<String>,
    #[serde(default)]
    pub(super) content_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    #[serde(default)]
    pub(super) status: Option<i64>,
    #[serde(default)]
    pub(super) headers: Vec<Header>,
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default, rename = "redirectURL")]
    pub(super) redirect_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content {
    #[serde(default)]
    pub(super) mime_type: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) encoding: Option<String>,
}

/// Reads a number; what is none is as if it were not there.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_f64())
}

fn timings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timings>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}
