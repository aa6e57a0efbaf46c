//! The bodies of an entry of a HAR file.

use super::entry::{HarPostData, HarResponse};
use crate::exchange::{Body, RecordedPart, media_of, read_body};
use base64::Engine as _;

const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the body of a response, if it is text.
pub(super) fn text_of(response: &mut HarResponse) -> Option<String> {
    let text = response.text.take().filter(|text| !text.is_empty())?;
    if !response.is_base64 {
        return Some(text);
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_bytes());
    String::from_utf8(bytes.ok()?).ok()
}

/// Returns the body of a request.
pub(super) fn body_of(post: HarPostData, headers: &[(String, String)]) -> Option<Body> {
    let media = headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .map(|(_, value)| value.clone());
    let media = post
        .mime_type
        .filter(|media| !media.is_empty())
        .or(media)
        .unwrap_or_default();
    let text = post.text.filter(|text| !text.is_empty());
    let params = Some(post.params).filter(|params| !params.is_empty());
    match (text, params) {
        (Some(text), _) => {
            // Firefox repeats the headers of a multipart body before it.
            let text = match (media.starts_with("multipart/"), text.find("--")) {
                (true, Some(from))
                    if from > 0 && text[..from].to_ascii_lowercase().contains("content-type:") =>
                {
                    text[from..].to_owned()
                }
                _ => text,
            };
            read_body(&media, text)
        }
        (None, Some(params)) if media_of(&media) == "multipart/form-data" => {
            let parts = params.into_iter().map(|param| RecordedPart {
                content: None,
                data: param
                    .value
                    .filter(|value| param.file_name.is_none() || !value.is_empty()),
                name: param.name,
                filename: param.file_name,
                media: param.content_type,
            });
            Some(Body::Multipart(parts.collect()))
        }
        (None, Some(params)) => {
            let pairs = params
                .into_iter()
                .map(|param| (param.name, param.value.unwrap_or_default()));
            // Params are as they were sent: encoded.
            let decoded = |text: String| {
                let spaced = text.replace('+', " ");
                percent_encoding::percent_decode_str(&spaced)
                    .decode_utf8_lossy()
                    .into_owned()
            };
            let fields = pairs.map(|(name, value)| (decoded(name), decoded(value)));
            let mut encoded = url::form_urlencoded::Serializer::new(String::new());
            let text = encoded.extend_pairs(fields).finish();
            read_body(FORM, text)
        }
        (None, None) => None,
    }
}
