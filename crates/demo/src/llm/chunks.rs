//! Completions as they are sent: whole, or in chunks, one for each token.

use super::super::events::SiteEvent;
use super::completion::{CompletionKind, CompletionRequest, CompletionText, ToolCall};
use super::models::TokenPace;
use super::under_way::UnderWay;
use serde_json::{Value, json};
use std::time::Duration;

/// A completion on its way to the client.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) request: CompletionRequest,
    pub(super) text: CompletionText,
    pub(super) pace: TokenPace,
    pub(super) under_way: UnderWay,
    pub(super) id: String,
    /// Its time, in seconds since 1970.
    pub(super) created: u64,
}

/// The kinds of a chunk.
enum ChunkKind {
    /// The role, without content: a chat begins with it.
    Role,
    /// The token with that number.
    Token(u32),
    /// The end of the text, with its reason.
    Finish,
    Usage,
    Done,
}

impl Completion {
    /// Returns the whole completion.
    pub(super) fn whole(&self) -> Value {
        let (reasoning, text) = match &self.request.tool {
            Some(_) => Default::default(),
            None => self.text.whole(),
        };
        let mut choice = match self.request.kind {
            CompletionKind::Chat => {
                let mut message = json!({ "role": "assistant", "content": text });
                if self.text.reasoning > 0 {
                    message["reasoning_content"] = json!(reasoning);
                }
                if let Some(tool) = &self.request.tool {
                    let arguments = tool.tokens.concat();
                    message["content"] = Value::Null;
                    message["tool_calls"] = json!([self.tool_call(tool, &arguments)]);
                }
                json!({ "index": 0, "message": message, "logprobs": null })
            }
            CompletionKind::Text => json!({ "index": 0, "text": text, "logprobs": null }),
        };
        choice["finish_reason"] = json!(self.finish_reason());
        let mut whole = self.head(match self.request.kind {
            CompletionKind::Chat => "chat.completion",
            CompletionKind::Text => "text_completion",
        });
        whole["choices"] = json!([choice]);
        whole["usage"] = self.request.usage();
        whole
    }

    /// Returns the event with that number, from 1.
    pub(super) fn event(&self, number: u32) -> Option<SiteEvent> {
        let kind = self.chunk_kind(number)?;
        let after = match kind {
            ChunkKind::Token(0) => self.pace.first(self.under_way.others()),
            ChunkKind::Token(token) => {
                let others = self.under_way.others();
                self.pace.gap(self.text.chance(token), others)
            }
            _ => Duration::ZERO,
        };
        let data = match kind {
            ChunkKind::Done => "[DONE]".to_owned(),
            _ => self.chunk(&kind).to_string(),
        };
        Some(SiteEvent {
            after,
            text: format!("data: {data}\n\n"),
            is_logged: matches!(kind, ChunkKind::Token(_)),
        })
    }

    fn chunk_kind(&self, number: u32) -> Option<ChunkKind> {
        let has_role = self.request.kind == CompletionKind::Chat;
        let place = if has_role { number - 1 } else { number };
        let tokens = self.text.tokens();
        if place == 0 {
            return Some(ChunkKind::Role);
        }
        if place <= tokens {
            return Some(ChunkKind::Token(place - 1));
        }
        match (place - tokens, self.request.includes_usage) {
            (1, _) => Some(ChunkKind::Finish),
            (2, true) => Some(ChunkKind::Usage),
            (2, false) | (3, true) => Some(ChunkKind::Done),
            _ => None,
        }
    }

    fn chunk(&self, kind: &ChunkKind) -> Value {
        let mut finish = Value::Null;
        let mut delta = json!({});
        let mut text = String::new();
        match *kind {
            ChunkKind::Role => delta = json!({ "role": "assistant", "content": "" }),
            ChunkKind::Token(number) if let Some(tool) = &self.request.tool => {
                let token = &tool.tokens[number as usize];
                let mut call = match number {
                    0 => self.tool_call(tool, token),
                    _ => json!({ "function": { "arguments": token } }),
                };
                call["index"] = json!(0);
                delta["tool_calls"] = json!([call]);
            }
            ChunkKind::Token(number) => {
                text = self.text.token(number);
                let is_reasoning = number < self.text.reasoning;
                let field = if is_reasoning {
                    "reasoning_content"
                } else {
                    "content"
                };
                delta[field] = json!(text);
            }
            ChunkKind::Finish => finish = json!(self.finish_reason()),
            ChunkKind::Usage | ChunkKind::Done => {}
        }
        let choice = match self.request.kind {
            CompletionKind::Chat => json!({ "index": 0, "delta": delta, "finish_reason": finish }),
            CompletionKind::Text => json!({ "index": 0, "text": text, "finish_reason": finish }),
        };
        let is_usage = matches!(kind, ChunkKind::Usage);
        let mut chunk = self.head(match self.request.kind {
            CompletionKind::Chat => "chat.completion.chunk",
            CompletionKind::Text => "text_completion",
        });
        chunk["choices"] = if is_usage { json!([]) } else { json!([choice]) };
        if self.request.includes_usage {
            chunk["usage"] = if is_usage {
                self.request.usage()
            } else {
                Value::Null
            };
        }
        chunk
    }

    fn tool_call(&self, tool: &ToolCall, arguments: &str) -> Value {
        let function = json!({ "name": tool.name, "arguments": arguments });
        json!({ "id": format!("call-{}", self.id), "type": "function", "function": function })
    }

    fn finish_reason(&self) -> &'static str {
        match self.request.tool {
            Some(_) => "tool_calls",
            None => self.text.finish_reason(),
        }
    }

    fn head(&self, object: &str) -> Value {
        let model = self.request.model.name;
        json!({ "id": self.id, "object": object, "created": self.created, "model": model })
    }
}
