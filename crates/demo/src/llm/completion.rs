//! Requests for completions and the text that they get, which depends on nothing but the request. A token is a word.

use super::super::filler::ENGLISH;
use super::models::DemoModel;
use serde_json::{Value, json};

/// The most tokens of a response.
const MAX_TOKENS: u32 = 65_536;

/// A fault in a request: the message, and the field with the fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompletionMistake {
    Field(&'static str, &'static str),
    UnknownModel(String),
}

/// The two kinds of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletionKind {
    /// `POST /v1/chat/completions`
    Chat,
    /// `POST /v1/completions`
    Text,
}

/// A request for a completion.
#[derive(Debug)]
pub(super) struct CompletionRequest {
    pub(super) kind: CompletionKind,
    pub(super) model: &'static DemoModel,
    pub(super) prompt_tokens: u32,
    pub(super) is_streamed: bool,
    /// Whether the last chunk has the usage.
    pub(super) includes_usage: bool,
    max_tokens: Option<u32>,
    ignores_end: bool,
    /// The call of a tool that the model makes in place of a text.
    pub(super) tool: Option<ToolCall>,
    /// The seed of the text.
    seed: u64,
}

/// A call of a tool: its name, and its arguments as JSON, by tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) tokens: Vec<String>,
}

/// The text that a request gets, as the numbers of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompletionText {
    /// The number of tokens that come before the text.
    pub(super) reasoning: u32,
    pub(super) text: u32,
    /// Whether it has its end, not the limit of the request.
    pub(super) is_whole: bool,
    seed: u64,
}

impl CompletionRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The fault in it.
    pub(super) fn read(
        kind: CompletionKind,
        body: &Value,
    ) -> Result<CompletionRequest, CompletionMistake> {
        let mistake = CompletionMistake::Field;
        let name = body["model"].as_str();
        let name = name.ok_or(mistake("'model' must be the name of a model", "model"))?;
        let model = DemoModel::find(name)
            .ok_or_else(|| CompletionMistake::UnknownModel(name.to_owned()))?;
        let mut prompt = PromptWords::default();
        match kind {
            CompletionKind::Chat => {
                let messages = body["messages"].as_array();
                let why = "'messages' must be a list of at least one message";
                let messages = messages.filter(|messages| !messages.is_empty());
                for message in messages.ok_or(mistake(why, "messages"))? {
                    prompt.add(&message["content"]);
                }
            }
            CompletionKind::Text if body["prompt"].is_null() => {
                return Err(mistake("'prompt' must be a text", "prompt"));
            }
            CompletionKind::Text => prompt.add(&body["prompt"]),
        }
        let limit = [&body["max_completion_tokens"], &body["max_tokens"]];
        let limit = limit.into_iter().find(|limit| !limit.is_null());
        let max_tokens = limit.map(|limit| {
            let whole = limit.as_u64().filter(|tokens| *tokens > 0);
            let whole = whole.and_then(|tokens| u32::try_from(tokens).ok());
            whole.ok_or(mistake(
                "'max_tokens' must be a number from 1 on",
                "max_tokens",
            ))
        });
        Ok(CompletionRequest {
            kind,
            model,
            prompt_tokens: prompt.count,
            is_streamed: body["stream"] == json!(true),
            includes_usage: body["stream_options"]["include_usage"] == json!(true),
            max_tokens: max_tokens.transpose()?,
            ignores_end: body["ignore_eos"] == json!(true),
            tool: ToolCall::for_request(body, prompt.seed),
            seed: prompt.seed,
        })
    }

    /// Returns the text: 16 to 127 tokens if the request does not limit it, as many as it allows if it ignores the end.
    pub(super) fn text(&self) -> CompletionText {
        if let Some(tool) = &self.tool {
            return CompletionText {
                reasoning: 0,
                text: tool.tokens.len() as u32,
                is_whole: true,
                seed: self.seed,
            };
        }
        let most = self.max_tokens.unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
        let natural = self.model.reasoning + 16 + (self.seed >> 7) as u32 % 112;
        let all = match self.max_tokens {
            Some(_) if self.ignores_end => most,
            _ => natural.min(most),
        };
        let reasoning = self.model.reasoning.min(all);
        CompletionText {
            reasoning,
            text: all - reasoning,
            is_whole: all == natural,
            seed: self.seed,
        }
    }

    /// Returns the numbers of tokens as the API has them.
    pub(super) fn usage(&self) -> Value {
        let text = self.text();
        let mut usage = json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": text.tokens(),
            "total_tokens": self.prompt_tokens + text.tokens(),
        });
        if self.model.reasoning > 0 {
            usage["completion_tokens_details"] = json!({ "reasoning_tokens": text.reasoning });
        }
        usage
    }
}

impl ToolCall {
    /// Returns a call of the first of the tools, with arguments of the types that it takes. The model makes one after each
    /// message of the user.
    fn for_request(body: &Value, seed: u64) -> Option<ToolCall> {
        let last = body["messages"].as_array()?.last()?;
        if last["role"] != json!("user") || body["tool_choice"] == json!("none") {
            return None;
        }
        let function = &body["tools"].as_array()?.first()?["function"];
        let properties = function["parameters"]["properties"].as_object();
        let arguments = properties.into_iter().flatten().zip(0..);
        let arguments = arguments.map(|((name, schema), place)| {
            let chance = mix(seed ^ place) as usize;
            let value = match schema["type"].as_str() {
                _ if schema["enum"].is_array() => schema["enum"][0].clone(),
                Some("integer" | "number") => json!(chance % 100),
                Some("boolean") => json!(chance.is_multiple_of(2)),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => json!(ENGLISH[chance % ENGLISH.len()]),
            };
            (name.clone(), value)
        });
        let arguments = Value::Object(arguments.collect()).to_string();
        let characters: Vec<char> = arguments.chars().collect();
        Some(ToolCall {
            name: function["name"].as_str()?.to_owned(),
            tokens: characters.chunks(4).map(String::from_iter).collect(),
        })
    }
}

impl CompletionText {
    pub(super) fn tokens(&self) -> u32 {
        self.reasoning + self.text
    }

    /// Returns the token with that number, from 0, of the reasoning and the text after it.
    pub(super) fn token(&self, number: u32) -> String {
        let word = ENGLISH[self.chance(number) as usize % ENGLISH.len()];
        match number {
            0 => word.to_owned(),
            number if number == self.reasoning => word.to_owned(),
            _ => format!(" {word}"),
        }
    }

    /// Returns a number that depends on the request and the token alone.
    pub(super) fn chance(&self, number: u32) -> u32 {
        mix(self.seed ^ u64::from(number)) as u32
    }

    pub(super) fn finish_reason(&self) -> &'static str {
        if self.is_whole { "stop" } else { "length" }
    }

    /// Returns the reasoning and the text.
    pub(super) fn whole(&self) -> (String, String) {
        let of = |tokens: std::ops::Range<u32>| tokens.map(|number| self.token(number)).collect();
        (of(0..self.reasoning), of(self.reasoning..self.tokens()))
    }
}

/// The words of a prompt, and a number that is made from them.
#[derive(Debug, Default)]
struct PromptWords {
    count: u32,
    seed: u64,
}

impl PromptWords {
    /// Adds a text, or the texts in a list of texts or of parts with a text.
    fn add(&mut self, content: &Value) {
        match content {
            Value::String(text) => {
                for word in text.split_whitespace() {
                    self.count += 1;
                    let of = |seed: u64, byte: u8| mix(seed ^ u64::from(byte));
                    self.seed = word.bytes().fold(self.seed, of);
                }
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.add(part)),
            Value::Object(part) => part.get("text").into_iter().for_each(|text| self.add(text)),
            // A token of its own, by its number.
            Value::Number(_) => self.count += 1,
            _ => {}
        }
    }
}

/// Mixes the bits of a number: the finalizer of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
