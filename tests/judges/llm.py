#!/usr/bin/env python3
"""Says what a program gets of responses of language models through OpenAI's and Anthropic's own clients.

Reads {"url", "cases"} as JSON and requests case 7 below URL/case/7/v1. Prints the versions of the clients and what each case
gave: whether it ended without an exception, and what had come. The exit code is 77 where a client is not installed."""

import json
import sys

try:
    import anthropic
    import openai
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

HELLO = [{"role": "user", "content": "hello"}]


class Reading:
    def __init__(self):
        self.text = self.reasoning = self.refusal = ""
        self.finish_reason = None
        self.calls = {}
        self.usage = [None, None]
        self.embeddings = []

    def call(self, place, kind, id, name, arguments):
        call = self.calls.setdefault(place, [None, None, "", kind])
        call[0] = call[0] or id or None
        call[1] = call[1] or name or None
        call[2] += arguments or ""

    def shown(self, ok):
        return {
            "ok": ok,
            "text": self.text,
            "reasoning": self.reasoning,
            "refusal": self.refusal,
            "finish_reason": self.finish_reason or None,
            "calls": [self.calls[place] for place in sorted(self.calls)],
            "usage": self.usage,
            "embeddings": self.embeddings,
        }


def content(got, value):
    """A text, or a list of parts as some servers have it."""
    if isinstance(value, str):
        got.text += value
    for part in value if isinstance(value, list) else []:
        part = part if isinstance(part, dict) else part.to_dict()
        thinking = part.get("thinking") or ""
        got.reasoning += "".join(inner["text"] for inner in thinking) if isinstance(thinking, list) else thinking
        got.text += part.get("text") or ""
        got.refusal += part.get("refusal") or ""


def message(got, value):
    content(got, value.content)
    got.refusal += getattr(value, "refusal", None) or ""
    got.reasoning += getattr(value, "reasoning_content", None) or getattr(value, "reasoning", None) or ""
    for at, call in enumerate(getattr(value, "tool_calls", None) or []):
        place = getattr(call, "index", None)
        function = call.function
        got.call(at if place is None else place, call.type or "function", call.id, function.name, function.arguments)
    call = getattr(value, "function_call", None)
    if call:
        got.call(0, "function_call", None, call.name, call.arguments)


def usage(got, value):
    if value:
        got.usage = [value.prompt_tokens, value.completion_tokens]


def chat(got, client, stream):
    answer = client.chat.completions.create(model="m", messages=HELLO, stream=stream)
    for chunk in answer if stream else [answer]:
        usage(got, chunk.usage)
        for choice in chunk.choices if stream else [chunk.choices[0]]:
            if choice.index in (0, None):
                message(got, choice.delta if stream else choice.message)
                got.finish_reason = choice.finish_reason or got.finish_reason


def completion(got, client, stream):
    answer = client.completions.create(model="m", prompt="hello", stream=stream)
    for chunk in answer if stream else [answer]:
        usage(got, chunk.usage)
        for choice in chunk.choices if stream else [chunk.choices[0]]:
            if choice.index in (0, None):
                got.text += choice.text
                got.finish_reason = choice.finish_reason or got.finish_reason


def response(got, client, stream):
    answer = client.responses.create(model="m", input="hello", stream=stream)
    if stream:
        final = None
        for event in answer:
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                final = event.response
            elif event.type == "error":
                raise RuntimeError(event.message)
        answer = final
    for place, item in enumerate(answer.output):
        if item.type == "message":
            for part in item.content:
                got.text += getattr(part, "text", "")
                got.refusal += getattr(part, "refusal", "")
        elif item.type == "reasoning":
            got.reasoning += "".join(part.text for part in item.summary)
        elif item.type == "function_call":
            got.call(place, "function", item.call_id, item.name, item.arguments)
    if answer.usage:
        got.usage = [answer.usage.input_tokens, answer.usage.output_tokens]
    if answer.status == "failed":
        raise RuntimeError(answer.error.message)
    got.finish_reason = answer.incomplete_details.reason if answer.status == "incomplete" else "stop"


def claude(got, client, stream):
    if stream:
        with client.messages.stream(model="m", messages=HELLO, max_tokens=9) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(model="m", messages=HELLO, max_tokens=9)
    for place, block in enumerate(answer.content):
        if block.type == "text":
            got.text += block.text
        elif block.type == "thinking":
            got.reasoning += block.thinking
        elif block.type == "tool_use":
            got.call(place, "function", block.id, block.name, json.dumps(block.input))
    got.finish_reason = answer.stop_reason
    cached = (answer.usage.cache_creation_input_tokens or 0) + (answer.usage.cache_read_input_tokens or 0)
    got.usage = [answer.usage.input_tokens + cached, answer.usage.output_tokens]


def embeddings(got, client, _):
    answer = client.embeddings.create(model="m", input=["a", "b"])
    got.embeddings = [list(item.embedding) for item in answer.data]
    got.usage = [answer.usage.prompt_tokens, None]


READERS = {"chat": chat, "completion": completion, "response": response, "message": claude, "embeddings": embeddings}


def read(url, number, case):
    got = Reading()
    path = f"{url}/case/{number}"
    options = {"api_key": "key", "max_retries": 0, "timeout": 5}
    if case["api"] == "message":
        client = anthropic.Anthropic(base_url=path, **options)
    else:
        client = openai.OpenAI(base_url=f"{path}/v1", **options)
    try:
        READERS[case["api"]](got, client, case.get("stream", True))
    except Exception as error:
        print(f"{case['about']}: {type(error).__name__}: {error}", file=sys.stderr)
        return got.shown(False)
    return got.shown(True)


asked = json.load(sys.stdin)
readings = [read(asked["url"], number, case) for number, case in enumerate(asked["cases"])]
print(json.dumps({"version": f"openai {openai.__version__}, anthropic {anthropic.__version__}", "readings": readings}))
