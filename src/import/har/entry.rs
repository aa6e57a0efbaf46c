//! An entry of a HAR file, as far as it is read. Browsers leave out fields and write `null`: hardly any is required.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarEntry {
    #[serde(default)]
    pub(super) started_date_time: Option<String>,
    #[serde(default, deserialize_with = "number")]
    pub(super) time: Option<f64>,
    #[serde(default, deserialize_with = "timings")]
    pub(super) timings: Option<HarTimings>,
    pub(super) request: HarRequest,
    #[serde(default)]
    pub(super) response: Option<HarResponse>,
    /// Of Chromium.
    #[serde(default, rename = "_resourceType")]
    pub(super) resource_type: Option<String>,
    #[serde(default, rename = "_fromCache")]
    pub(super) from_cache: Option<String>,
}

/// The parts of its time, in milliseconds.
#[derive(Deserialize)]
pub(super) struct HarTimings {
    #[serde(default, deserialize_with = "number")]
    pub(super) receive: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarRequest {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<HarHeader>,
    #[serde(default)]
    pub(super) post_data: Option<HarPostData>,
}

#[derive(Deserialize)]
pub(super) struct HarHeader {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarPostData {
    #[serde(default)]
    pub(super) mime_type: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) params: Option<Vec<HarParam>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarParam {
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
pub(super) struct HarResponse {
    #[serde(default)]
    pub(super) status: Option<i64>,
    #[serde(default)]
    pub(super) headers: Vec<HarHeader>,
    #[serde(default)]
    pub(super) content: Option<HarContent>,
    #[serde(default, rename = "redirectURL")]
    pub(super) redirect_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarContent {
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

fn timings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HarTimings>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}
