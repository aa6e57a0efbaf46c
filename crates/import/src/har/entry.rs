//! An entry of a HAR file, as far as it is read. Browsers leave out fields and write `null`: hardly any is required. A field
//! that is something else than it should be costs its entry.

use serde_json::{Map, Value};

#[derive(Debug)]
pub(super) struct HarEntry {
    pub(super) started_date_time: Option<String>,
    pub(super) time: Option<f64>,
    /// The last part of its time, in milliseconds.
    pub(super) receive: Option<f64>,
    /// The page that it belongs to.
    pub(super) pageref: Option<String>,
    /// The type of Chromium.
    pub(super) resource_type: Option<String>,
    pub(super) from_cache: bool,
    /// The frame that sent it, as Playwright writes it.
    pub(super) frame: Option<String>,
    pub(super) method: String,
    pub(super) url: String,
    /// Names and values.
    pub(super) headers: Vec<(String, String)>,
    pub(super) post_data: Option<HarPostData>,
    pub(super) response: Option<HarResponse>,
}

#[derive(Debug)]
pub(super) struct HarPostData {
    pub(super) mime_type: Option<String>,
    pub(super) text: Option<String>,
    pub(super) params: Vec<HarParam>,
}

#[derive(Debug)]
pub(super) struct HarParam {
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
}

#[derive(Debug)]
pub(super) struct HarResponse {
    pub(super) status: Option<i64>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) mime_type: Option<String>,
    pub(super) text: Option<String>,
    pub(super) is_base64: bool,
    pub(super) redirect_url: Option<String>,
}

impl HarEntry {
    /// Reads an entry.
    ///
    /// # Errors
    /// The fault in it.
    pub(super) fn read(entry: Value) -> Result<HarEntry, String> {
        let Value::Object(fields) = entry else {
            return Err("it is no object".to_owned());
        };
        let mut entry = HarFields(fields);
        let Some(mut request) = entry.object("request")? else {
            return Err("it has no 'request'".to_owned());
        };
        let mut timings = entry.object("timings").ok().flatten();
        Ok(HarEntry {
            started_date_time: entry.text("startedDateTime").ok().flatten(),
            time: entry.number("time"),
            receive: timings
                .as_mut()
                .and_then(|timings| timings.number("receive")),
            pageref: entry.text("pageref").ok().flatten(),
            resource_type: entry.text("_resourceType").ok().flatten(),
            from_cache: entry.text("_fromCache").ok().flatten().is_some(),
            frame: entry.text("_frameref").ok().flatten(),
            method: request.required("method")?,
            url: request.required("url")?,
            headers: request.pairs("headers")?,
            post_data: match request.object("postData")? {
                Some(post) => Some(post_data(post)?),
                None => None,
            },
            response: match entry.object("response")? {
                Some(response) => Some(response_of(response)?),
                None => None,
            },
        })
    }
}

fn post_data(mut post: HarFields) -> Result<HarPostData, String> {
    let mut params = Vec::new();
    for mut param in post.objects("params")? {
        params.push(HarParam {
            name: param.required("name")?,
            value: param.text("value")?,
            file_name: param.text("fileName")?,
            content_type: param.text("contentType")?,
        });
    }
    Ok(HarPostData {
        mime_type: post.text("mimeType")?,
        text: post.text("text")?,
        params,
    })
}

fn response_of(mut response: HarFields) -> Result<HarResponse, String> {
    let status = match response.text("status")? {
        None => None,
        Some(status) => match status.parse::<f64>() {
            Ok(status) => Some(status as i64),
            Err(_) => return Err("its 'status' is no number".to_owned()),
        },
    };
    let content = response.object("content")?;
    let mut content = content.unwrap_or(HarFields(Map::new()));
    Ok(HarResponse {
        status,
        headers: response.pairs("headers")?,
        mime_type: content.text("mimeType")?,
        text: content.text("text")?,
        is_base64: content.text("encoding")?.as_deref() == Some("base64"),
        redirect_url: response.text("redirectURL")?,
    })
}

/// The fields of an object; `null` counts as missing.
pub(super) struct HarFields(pub(super) Map<String, Value>);

impl HarFields {
    /// Takes a text; numbers and the like are texts, too.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name).unwrap_or_default() {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            scalar @ (Value::Number(_) | Value::Bool(_)) => Ok(Some(scalar.to_string())),
            Value::Array(_) | Value::Object(_) => Err(format!("its '{name}' is no text")),
        }
    }

    fn required(&mut self, name: &str) -> Result<String, String> {
        let text = self.text(name)?;
        text.ok_or_else(|| format!("there is no '{name}'"))
    }

    /// Takes a number; any other value counts as missing.
    fn number(&mut self, name: &str) -> Option<f64> {
        self.0.remove(name).and_then(|value| value.as_f64())
    }

    fn object(&mut self, name: &str) -> Result<Option<HarFields>, String> {
        match self.0.remove(name).unwrap_or_default() {
            Value::Null => Ok(None),
            Value::Object(fields) => Ok(Some(HarFields(fields))),
            _ => Err(format!("its '{name}' is no object")),
        }
    }

    fn objects(&mut self, name: &str) -> Result<Vec<HarFields>, String> {
        let values = match self.0.remove(name).unwrap_or_default() {
            Value::Null => Vec::new(),
            Value::Array(values) => values,
            _ => return Err(format!("its '{name}' are no list")),
        };
        let objects = values.into_iter().map(|value| match value {
            Value::Object(fields) => Ok(HarFields(fields)),
            _ => Err(format!("one of its '{name}' is no object")),
        });
        objects.collect()
    }

    /// Takes a list of objects with `name` and `value`.
    fn pairs(&mut self, name: &str) -> Result<Vec<(String, String)>, String> {
        let mut pairs = Vec::new();
        for mut pair in self.objects(name)? {
            let name = pair.required("name")?;
            pairs.push((name, pair.text("value")?.unwrap_or_default()));
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_with_an_entry_is_named() {
        let request = |field: &str, value: Value| {
            let mut request = json!({ "method": "GET", "url": "http://a.test/" });
            request[field] = value;
            json!({ "request": request })
        };
        let response = |field: &str, value: Value| {
            let request = json!({ "method": "GET", "url": "http://a.test/" });
            json!({ "request": request, "response": { field: value } })
        };
        for (entry, expected) in [
            (json!(7), "it is no object"),
            (json!({}), "it has no 'request'"),
            (json!({ "request": 7 }), "its 'request' is no object"),
            (request("url", Value::Null), "there is no 'url'"),
            (request("method", json!([])), "its 'method' is no text"),
            (request("headers", json!("a")), "its 'headers' are no list"),
            (
                request("headers", json!([1])),
                "one of its 'headers' is no object",
            ),
            (
                request("headers", json!([{ "value": "a" }])),
                "there is no 'name'",
            ),
            (
                request("postData", json!("a")),
                "its 'postData' is no object",
            ),
            (
                request("postData", json!({ "params": {} })),
                "its 'params' are no list",
            ),
            (
                response("status", json!("soon")),
                "its 'status' is no number",
            ),
            (response("content", json!([])), "its 'content' is no object"),
        ] {
            let read = HarEntry::read(entry.clone());
            assert_eq!(read.expect_err("it is wrong"), expected, "{entry}");
        }
        let read = HarEntry::read(response("status", json!("204"))).expect("a number");
        assert_eq!(
            read.response.and_then(|response| response.status),
            Some(204)
        );
    }
}
