//! An imitation of an OpenAI-compatible server of language models: chats and completions, whole or token by token. Its text
//! is nonsense and depends on the request alone; its times are those of the model, or of the query. Driven by the server
//! for each request.

mod chunks;
mod completion;
mod models;
#[cfg(test)]
mod tests;
mod under_way;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::SystemTime;

use self::chunks::Completion;
use self::completion::{CompletionKind, CompletionMistake, CompletionRequest};
use self::models::{DemoModel, MODELS};
use self::under_way::UnderWay;
use super::events::SiteEvents;
use super::sent::{SendLog, SendRecorder};
use super::server::{Handler, SiteDelay, SiteRequest, SiteResponse};

/// All labels that requests are counted under.
const LABELS: &[&str] = &[
    "GET /health",
    "GET /v1/models",
    "POST /v1/chat/completions",
    "POST /v1/completions",
    "other",
];

/// The server, with the log of the tokens that it has sent.
pub(super) struct Llm {
    sent: Arc<SendLog>,
    /// The number of completions so far.
    completions: AtomicU64,
    /// The number of completions that are being sent.
    under_way: Arc<AtomicU32>,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LlmRoute<'a> {
    Health,
    Models,
    Model(&'a str),
    Completion(CompletionKind),
    Unknown,
}

impl LlmRoute<'_> {
    fn of(path: &str) -> LlmRoute<'_> {
        match path {
            "/health" => LlmRoute::Health,
            "/v1/models" => LlmRoute::Models,
            "/v1/chat/completions" => LlmRoute::Completion(CompletionKind::Chat),
            "/v1/completions" => LlmRoute::Completion(CompletionKind::Text),
            path => match path.strip_prefix("/v1/models/") {
                Some(name) => LlmRoute::Model(name),
                None => LlmRoute::Unknown,
            },
        }
    }

    /// The method that the path takes, and the label of its requests.
    fn method(self) -> Option<(&'static str, &'static str)> {
        match self {
            LlmRoute::Health => Some(("GET", LABELS[0])),
            LlmRoute::Models | LlmRoute::Model(_) => Some(("GET", LABELS[1])),
            LlmRoute::Completion(CompletionKind::Chat) => Some(("POST", LABELS[2])),
            LlmRoute::Completion(CompletionKind::Text) => Some(("POST", LABELS[3])),
            LlmRoute::Unknown => None,
        }
    }
}

impl Handler for Llm {
    fn labels(&self) -> &'static [&'static str] {
        LABELS
    }

    fn label(&self, method: &Method, path: &str) -> &'static str {
        let route = LlmRoute::of(path).method();
        let taken = route.filter(|(taken, _)| is_taken(taken, method));
        taken.map_or("other", |(_, label)| label)
    }

    fn respond(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let route = LlmRoute::of(request.path);
        let Some((method, _)) = route.method() else {
            let why = format!("there is nothing at {}", request.path);
            return refusal(StatusCode::NOT_FOUND, &why, None, None);
        };
        if !is_taken(method, request.method) {
            let why = format!("this path takes {method}");
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, &why, None, None);
            let allowed = HeaderValue::from_static(method);
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        match route {
            LlmRoute::Models => {
                let models: Vec<Value> = MODELS.iter().map(shown).collect();
                found(&json!({ "object": "list", "data": models }))
            }
            LlmRoute::Model(name) => match DemoModel::find(name) {
                Some(model) => found(&shown(model)),
                None => unknown_model(name),
            },
            LlmRoute::Completion(kind) => self.complete(kind, request),
            LlmRoute::Health | LlmRoute::Unknown => found(&json!({})),
        }
    }

    fn failure(&self) -> SiteResponse {
        let why = "the server had an error while processing your request";
        refusal(StatusCode::INTERNAL_SERVER_ERROR, why, None, None)
    }

    fn sent(&self) -> Option<Value> {
        Some(self.sent.shown())
    }
}

impl Llm {
    pub(super) fn new() -> Self {
        Llm {
            sent: Arc::new(SendLog::new()),
            completions: AtomicU64::new(0),
            under_way: Arc::default(),
        }
    }

    fn complete(&self, kind: CompletionKind, site_request: &SiteRequest<'_>) -> SiteResponse {
        let bad = |why, field| refusal(StatusCode::BAD_REQUEST, why, field, None);
        let Ok(body) = serde_json::from_slice::<Value>(site_request.body) else {
            return bad("the body of the request is not JSON", None);
        };
        let request = match CompletionRequest::read(kind, &body) {
            Ok(request) => request,
            Err(CompletionMistake::Field(why, field)) => return bad(why, Some(field)),
            Err(CompletionMistake::UnknownModel(name)) => return unknown_model(&name),
        };
        let number = self.completions.fetch_add(1, Ordering::Relaxed) + 1;
        let prefix = match kind {
            CompletionKind::Chat => "chatcmpl",
            CompletionKind::Text => "cmpl",
        };
        let created = SystemTime::UNIX_EPOCH.elapsed();
        let completion = Completion {
            text: request.text(),
            pace: request
                .model
                .pace(request.prompt_tokens, site_request.query),
            under_way: UnderWay::begin(&self.under_way),
            id: format!("{prefix}-{number}"),
            created: created.map_or(0, |since| since.as_secs()),
            request,
        };
        if !completion.request.is_streamed {
            let mut response = found(&completion.whole());
            let others = completion.under_way.others();
            let delay = completion.pace.whole(completion.text.tokens(), others);
            response.extensions_mut().insert(SiteDelay(delay));
            return response;
        }
        let recorder = SendRecorder {
            log: self.sent.clone(),
            id: completion.id.clone(),
            received: site_request.received,
        };
        let events = SiteEvents {
            event: Arc::new(move |number| completion.event(number)),
            recorder: Some(recorder),
        };
        events.response()
    }
}

fn is_taken(method: &str, by: &Method) -> bool {
    by.as_str() == method || method == "GET" && by == Method::HEAD
}

fn shown(model: &DemoModel) -> Value {
    json!({ "id": model.name, "object": "model", "created": 0, "owned_by": "lgoose" })
}

fn found(value: &Value) -> SiteResponse {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn unknown_model(name: &str) -> SiteResponse {
    let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    let why = format!(
        "the model '{name}' does not exist; models: {}",
        names.join(", ")
    );
    let code = Some("model_not_found");
    refusal(StatusCode::NOT_FOUND, &why, Some("model"), code)
}

fn refusal(status: StatusCode, why: &str, field: Option<&str>, code: Option<&str>) -> SiteResponse {
    let kind = if status.is_server_error() {
        "server_error"
    } else {
        "invalid_request_error"
    };
    let error = json!({ "message": why, "type": kind, "param": field, "code": code });
    let mut response = found(&json!({ "error": error }));
    *response.status_mut() = status;
    response
}
