//! Tests of the server of language models over real connections.

use crate::fixture::{FixtureResponse, Visitor};
use crate::{Behaviour, Site};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions?ttft=1&gap=0";

fn visitor() -> Visitor {
    Visitor::of(Site::Llm, Behaviour::default(), 1)
}

fn send(visitor: &Visitor, path: &str, body: &str) -> FixtureResponse {
    let length = body.len();
    let more = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    visitor.send("POST", path, &more, body)
}

fn json_of(response: &FixtureResponse) -> Value {
    serde_json::from_slice(&response.body).expect("the answer is JSON")
}

/// Returns the data of all events, and checks that chunks of the transfer are events.
fn events(response: &FixtureResponse) -> Vec<String> {
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let lines = response.text().lines();
    lines
        .filter_map(|line| line.strip_prefix("data: "))
        .map(str::to_owned)
        .collect()
}

fn chunks(response: &FixtureResponse) -> Vec<Value> {
    let mut events = events(response);
    assert_eq!(events.pop().as_deref(), Some("[DONE]"));
    let chunk = |text: &String| serde_json::from_str(text).expect("a chunk is JSON");
    events.iter().map(chunk).collect()
}

fn chat(model: &str, more: &Value) -> String {
    let mut body = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": [{ "type": "text", "text": "what floats" }] },
        ],
    });
    for (name, value) in more.as_object().expect("fields") {
        body[name] = value.clone();
    }
    body.to_string()
}

#[test]
fn a_streamed_chat_has_the_text_of_the_whole_one() {
    let visitor = visitor();
    let whole = json_of(&send(&visitor, CHAT, &chat("demo", &json!({}))));
    let choice = &whole["choices"][0];
    let text = choice["message"]["content"].as_str().expect("a text");
    assert_eq!(choice["finish_reason"], "stop");
    let tokens = text.split(' ').count();
    assert!((16..128).contains(&tokens), "{text}");
    let usage =
        json!({ "prompt_tokens": 4, "completion_tokens": tokens, "total_tokens": tokens + 4 });
    assert_eq!(whole["usage"], usage);

    let options = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let chunks = chunks(&send(&visitor, CHAT, &chat("demo", &options)));
    let delta = |chunk: &Value| chunk["choices"][0]["delta"].clone();
    assert_eq!(
        delta(&chunks[0]),
        json!({ "role": "assistant", "content": "" })
    );
    assert!(chunks[0]["usage"].is_null());
    let contents = chunks.iter().map(|chunk| delta(chunk)["content"].clone());
    let contents: Vec<String> = contents
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect();
    assert_eq!(contents.concat(), text);
    assert_eq!(chunks.len(), tokens + 3);
    let [finish, last] = [&chunks[tokens + 1], &chunks[tokens + 2]];
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage));

    let without = self::chunks(&send(
        &visitor,
        CHAT,
        &chat("demo", &json!({ "stream": true })),
    ));
    assert_eq!(without.len(), tokens + 2);
    assert!(without.iter().all(|chunk| chunk.get("usage").is_none()));
}

#[test]
fn a_limit_is_kept_and_reasoning_comes_first() {
    let visitor = visitor();
    let more = json!({ "max_tokens": 3, "stream": true });
    let chunks = chunks(&send(&visitor, CHAT, &chat("demo", &more)));
    assert_eq!(chunks.len(), 5);
    assert_eq!(chunks[4]["choices"][0]["finish_reason"], "length");
    let more = json!({ "max_tokens": 300, "ignore_eos": true });
    let whole = json_of(&send(&visitor, CHAT, &chat("demo-reasoning", &more)));
    assert_eq!(whole["usage"]["completion_tokens"], 300);
    let reasoning = &whole["usage"]["completion_tokens_details"]["reasoning_tokens"];
    assert_eq!(reasoning, 24);
    let message = &whole["choices"][0]["message"];
    let words = |text: &Value| text.as_str().map(|text| text.split(' ').count());
    assert_eq!(words(&message["reasoning_content"]), Some(24));
    assert_eq!(words(&message["content"]), Some(276));
}

#[test]
fn a_tool_is_called_after_a_message_of_the_user_and_streamed_as_it_is_whole() {
    let visitor = visitor();
    let properties = json!({ "city": { "type": "string" }, "days": { "type": "integer" }, "unit": { "enum": ["C"] } });
    let function = json!({ "name": "weather", "parameters": { "properties": properties } });
    let tools = json!([{ "type": "function", "function": function }]);
    let whole = json_of(&send(
        &visitor,
        CHAT,
        &chat("demo", &json!({ "tools": tools })),
    ));
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let call = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "weather");
    let text = call["arguments"].as_str().expect("a text");
    let arguments: Value = serde_json::from_str(text).expect("JSON");
    assert!(
        arguments["city"].is_string() && arguments["days"].is_u64(),
        "{text}"
    );
    assert_eq!(arguments["unit"], "C");

    let options = json!({ "tools": tools, "stream": true });
    let chunks = chunks(&send(&visitor, CHAT, &chat("demo", &options)));
    let part = |chunk: &Value| {
        let call = &chunk["choices"][0]["delta"]["tool_calls"][0];
        call["function"]["arguments"].as_str().map(str::to_owned)
    };
    assert_eq!(chunks.iter().filter_map(part).collect::<String>(), text);

    let result = json!({ "role": "tool", "tool_call_id": "call-1", "content": "rain" });
    let messages = json!([{ "role": "user", "content": "how is it" }, result]);
    let more = json!({ "tools": tools, "messages": messages });
    let response = json_of(&send(&visitor, CHAT, &chat("demo", &more)));
    assert_eq!(response["choices"][0]["finish_reason"], "stop");
}

#[test]
fn a_completion_takes_a_prompt() {
    let visitor = visitor();
    let path = "/v1/completions?ttft=0&gap=0";
    let body = json!({ "model": "demo-fast", "prompt": "once upon a time", "max_tokens": 2 });
    let whole = json_of(&send(&visitor, path, &body.to_string()));
    assert_eq!(whole["object"], "text_completion");
    let text = whole["choices"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    let mut streamed = body;
    streamed["stream"] = json!(true);
    let chunks = chunks(&send(&visitor, path, &streamed.to_string()));
    let parts = chunks
        .iter()
        .map(|chunk| chunk["choices"][0]["text"].as_str());
    assert_eq!(parts.collect::<Option<String>>(), Some(text));
    assert_eq!(chunks.len(), 3);
}

#[test]
fn mistakes_have_the_shape_of_the_api() {
    let visitor = visitor();
    for (path, body, status, words, field) in [
        (CHAT, "{".to_owned(), 400, "is not JSON", None),
        (
            CHAT,
            r#"{"model":"demo"}"#.to_owned(),
            400,
            "'messages' must",
            Some("messages"),
        ),
        (
            CHAT,
            r#"{"messages":[]}"#.to_owned(),
            400,
            "'model' must",
            Some("model"),
        ),
        (
            CHAT,
            chat("gpt", &json!({})),
            404,
            "models: demo, demo-fast",
            Some("model"),
        ),
        (
            CHAT,
            chat("demo", &json!({ "max_tokens": 0 })),
            400,
            "from 1 on",
            Some("max_tokens"),
        ),
        (
            "/v1/completions",
            r#"{"model":"demo"}"#.to_owned(),
            400,
            "'prompt' must",
            Some("prompt"),
        ),
        (
            "/v1/nothing",
            String::new(),
            404,
            "nothing at /v1/nothing",
            None,
        ),
        ("/v1/models", String::new(), 405, "takes GET", None),
    ] {
        let response = send(&visitor, path, &body);
        assert_eq!(response.status, status, "{body}");
        let error = &json_of(&response)["error"];
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(words), "{message}");
        assert_eq!(error["type"], "invalid_request_error");
        assert_eq!(error["param"], json!(field));
    }
    let models = json_of(&visitor.get("/v1/models"));
    assert_eq!(models["data"][1]["id"], "demo-fast");
    assert_eq!(json_of(&visitor.get("/v1/models/demo"))["id"], "demo");
    assert_eq!(visitor.get("/health").status, 200);
    assert_eq!(visitor.demo.served()["GET /v1/models"], 2);
    let fails = Behaviour {
        errors: 1.0,
        ..Behaviour::default()
    };
    let failing = Visitor::of(Site::Llm, fails, 1);
    let response = send(&failing, CHAT, &chat("demo", &json!({})));
    assert_eq!(response.status, 500);
    assert_eq!(json_of(&response)["error"]["type"], "server_error");
}

#[test]
fn the_log_has_the_time_of_every_token() {
    let visitor = visitor();
    let path = "/v1/chat/completions?ttft=40&gap=10";
    let more = json!({ "max_tokens": 5, "stream": true });
    let sent = chunks(&send(&visitor, path, &chat("demo", &more)));
    let log = json_of(&visitor.get("/_demo/sent"));
    let one = &log[0];
    assert_eq!(one["id"], sent[0]["id"]);
    let times = one["sent_ns"].as_array().expect("times");
    let times: Vec<u64> = times.iter().filter_map(Value::as_u64).collect();
    assert_eq!(times.len(), 5);
    let received = one["received_ns"].as_u64().expect("a time");
    // No sooner than that; how much later is up to the machine.
    assert!(times[0] - received >= 40_000_000);
    assert!(times[4] - received >= 80_000_000);
    assert!(
        Visitor::new(Behaviour::default(), 1)
            .get("/_demo/sent")
            .status
            == 404
    );
}
