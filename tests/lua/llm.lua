-- Language models behind OpenAI's API: what a plan gets of streams as they are, and of those that go wrong.

local test = require "test"
local same, raises = test.same, test.raises
local llm = require "lgoose.llm"

local HELLO = { { role = "user", content = "hello" } }
local made = llm.prompts { input_tokens = 100, output_tokens = 40, spread = 0.5 }
local files = { llm.prompts { file = "data/prompts.jsonl" }, llm.prompts { file = "data/sharegpt.json", order = "sequential" } }
local talks = llm.conversations { file = "data/prompts.jsonl", order = "sequential" }
local made_talks = llm.conversations { input_tokens = 5, output_tokens = 4, turns = 2 }
local empty = llm.prompts { file = "data/no_prompts.json" }

-- The lines of a stream with these chunks.
local function stream_of(chunks, line_end)
  local lines = {}
  for _, chunk in ipairs(chunks) do
    lines[#lines + 1] = "data: " .. (type(chunk) == "string" and chunk or json.encode(chunk))
    lines[#lines + 1] = ""
  end
  return table.concat(lines, line_end or "\n") .. (line_end or "\n")
end

local function delta(fields, finish) return { id = "c1", choices = { { index = 0, delta = fields, finish_reason = finish or json.null } } } end

local ROLE, STOP, DONE = delta { role = "assistant", content = "" }, delta(json.decode "{}", "stop"), "[DONE]"
local USAGE = { choices = json.array {}, usage = { prompt_tokens = 7, completion_tokens = 5, total_tokens = 12 } }

-- Has the server respond with this.
local function chat(user, name, respond, more)
  local request = { model = "m", messages = HELLO, path = "/respond", name = name, body = { respond = respond } }
  for field, value in pairs(more or {}) do request[field] = value end
  return llm.chat(user, request)
end

local function chat_stream(user, name, chunks, more) return chat(user, name, { text = stream_of(chunks) }, more) end

task { "a stream", sequence = 1, function(user)
  local chunks = { ROLE, delta { content = "one" }, delta { content = " two" }, delta { content = " three four" }, STOP, USAGE, DONE }
  local answer = chat_stream(user, "whole", chunks)
  same(answer.ok, true, answer.error or "ok")
  same(answer.error, nil, "no error")
  same(answer.status, 200, "status")
  same(answer.id, "c1", "id")
  same(answer.text, "one two three four", "text")
  same(answer.reasoning, nil, "no reasoning")
  same(answer.finish_reason, "stop", "finish_reason")
  same(answer.input_tokens, 7, "input_tokens")
  same(answer.output_tokens, 5, "output_tokens, several in an event")
  same(answer.tokens_by, "usage", "tokens_by")
  same(answer.usage.total_tokens, 12, "usage")
  same(#answer.itl, 2, "gaps between events with content")
  same(answer.ttft > 0 and answer.ttft <= answer.e2e, true, "in their order")
  same(answer.ttfo, answer.ttft, "no reasoning came before")
  same(math.abs(answer.ttft + 4 * answer.tpot - answer.e2e) < 1e-9, true, "e2e = ttft + (tokens - 1) * tpot")
  same(math.abs(answer.itl[1] + answer.itl[2] - (answer.e2e - answer.ttft)) < 1e-9, true, "the gaps add up")
end }

task { "what servers send otherwise", sequence = 2, function(user)
  local text = { delta { content = "a" }, delta { content = "b" } }
  local answer = chat_stream(user, "no usage", { text[1], text[2], STOP, DONE })
  same(answer.output_tokens, 2, "by events")
  same(answer.tokens_by, "events", "tokens_by")
  same(answer.input_tokens, nil, "unknown")
  answer = chat_stream(user, "no end mark", { text[1], STOP })
  same(answer.ok, true, "a finish_reason is enough")
  same(answer.tpot, nil, "one token has no time between two")
  answer = chat_stream(user, "no finish_reason", { text[1], DONE })
  same(answer.ok, true, "[DONE] is enough")
  same(answer.finish_reason, nil, "there is none")
  local lines = ": ping\r\n\r\nevent: message\r\n" .. stream_of({ ROLE, text[1] }, "\r\n") .. ":\r\n\r\n" .. stream_of({ text[2], STOP, DONE }, "\r\n")
  answer = chat(user, "comments", { text = lines })
  same(answer.text, "ab", "comments and other ends of lines")
  same(answer.output_tokens, 2, "comments are no tokens")
  answer = chat_stream(user, "reasoning", {
    ROLE, delta { reasoning_content = "so" }, delta { reasoning = " then" }, delta { content = "yes", reasoning_content = json.null }, STOP, DONE,
  })
  same(answer.reasoning, "so then", "reasoning")
  same(answer.text, "yes", "the text alone")
  same(answer.output_tokens, 3, "both are tokens")
  same(answer.ttfo >= answer.ttft, true, "the text came after")
  answer = chat_stream(user, "tools", { ROLE, delta { tool_calls = { { index = 0, ["function"] = { name = "f" } } } }, delta({}, "tool_calls"), DONE })
  same(answer.ok, true, "a call of a tool is content")
  same(answer.finish_reason, "tool_calls", "its reason")
  same(answer.tool_calls[1].name, "f", "its name")
  same(answer.tool_calls[1].arguments, "", "its arguments")
  same(json.encode(answer.message.tool_calls), [=[[{"function":{"arguments":"","name":"f"},"type":"function"}]]=], "the message to go on with")
  same(answer.message.content, json.null, "which has no text")
  answer = chat_stream(user, "no content", { ROLE, STOP, DONE })
  same(answer.ok, true, "nothing but an end")
  same(answer.ttft, nil, "no first token")
  same(answer.output_tokens, nil, "no token")
  answer = chat_stream(user, "a refusal", { ROLE, delta { refusal = "I will" }, delta { refusal = " not" }, STOP, DONE })
  same(answer.refusal, "I will not", "refusal")
  same(answer.text, "", "no text")
  same(answer.output_tokens, 2, "its tokens")
  local two = { choices = { { index = 0, delta = { content = "x" } }, { index = 1, delta = { content = "y" } } } }
  answer = chat_stream(user, "choices", { two, STOP, DONE })
  same(answer.text, "x", "of the first choice")
  answer = chat_stream(user, "no options", { text[1], DONE }, { body = { stream_options = false, respond = { text = stream_of { text[1], DONE } } } })
  same(answer.ok, true, "without stream_options")
end }

task { "what fails", sequence = 3, function(user)
  local some = { ROLE, delta { content = "some" } }
  local answer = chat(user, "cut", { text = stream_of(some), cut = true })
  same(answer.ok, false, "it failed")
  same(answer.error, "closed early", "why")
  same(answer.text, "some", "what came")
  answer = chat_stream(user, "unfinished", some)
  same(answer.error, "the stream ended without a finish_reason and without [DONE]", "a stream that ends too early")
  answer = chat_stream(user, "error event", { some[1], some[2], { error = { message = "out of memory", code = 500 } }, DONE })
  same(answer.ok, false, "an error within the stream")
  same(answer.error, "the stream has an error: out of memory", "its words")
  answer = chat_stream(user, "old error event", { { object = "error", message = "no such thing", code = 400 } })
  same(answer.error, "the stream has an error: no such thing", "in vLLM's older shape")
  answer = chat_stream(user, "not JSON", { some[2], "{oops", STOP, DONE })
  same(answer.error, "an event of the stream is not JSON: {oops", "an event that is broken")
  answer = chat_stream(user, "two errors", { some[1], { error = "busy" }, { error = "busier" }, "{oops" })
  same(answer.error, "the stream has an error: busy", "the first reason stays")
  answer = chat(user, "refused", { status = 404, type = "application/json", text = [[{"error":{"message":"no model 'm'"}}]] })
  same(answer.status, 404, "status")
  same(answer.ok, false, "a bad status")
  same(answer.error, "status 404: no model 'm'", "the words of the server")
  answer = chat(user, "no model, as expected", { status = 404, type = "application/json", text = "{}" }, { expect = { status = 404 } })
  same(answer.ok, true, "a status that the plan expects")
  answer = chat(user, "broken", { status = 500, type = "text/html", text = "<h1>sorry</h1>" })
  same(answer.error, "status 500 Internal Server Error", "only the words of an error in JSON")
  answer = chat(user, "not streamed", { type = "application/json", text = [[{"choices":[]}]] })
  same(answer.error, "the response is not an event stream but application/json", "a server that does not stream")
  answer = llm.chat(user, { model = "m", messages = HELLO, path = "/hold", name = "silent", timeout = 0.05 })
  same(answer.status, 0, "no response")
  same(answer.error, "timeout", "why")
  answer = chat_stream(user, "unexpected", { some[2], STOP, DONE }, { expect = { status = 201 } })
  same(answer.ok, false, "expect")
end }

task { "whole responses", sequence = 4, function(user)
  local function whole(name, value, status)
    local text = type(value) == "string" and value or json.encode(value)
    return chat(user, name, { status = status, type = "application/json", text = text }, { stream = false })
  end
  local message = { role = "assistant", content = "all of it", reasoning_content = "hm" }
  local answer = whole("at once", { id = "c2", choices = { { message = message, finish_reason = "length" } }, usage = USAGE.usage })
  same(answer.ok, true, answer.error or "ok")
  same(answer.text, "all of it", "text")
  same(answer.reasoning, "hm", "reasoning")
  same(answer.finish_reason, "length", "finish_reason")
  same(answer.output_tokens, 5, "tokens")
  same(answer.ttft, nil, "no first token")
  same(answer.tpot, nil, "no time between tokens")
  same(#answer.itl, 0, "no gaps")
  same(answer.e2e > 0, true, "e2e")
  answer = whole("at once, no usage", { choices = { { message = message } } })
  same(answer.output_tokens, nil, "nobody has counted")
  same(answer.tokens_by, nil, "by nothing")
  same(whole("no completion", { result = 1 }).error, "the response is not a completion", "something else")
  same(whole("no JSON", "<html>").error, "the response is not a completion", "no JSON")
  same(whole("with an error", { error = "busy" }).error, "the response has an error: busy", "an error with status 200")
  same(whole("limited", { error = { message = "slow down" } }, 429).error, "status 429: slow down", "429")
end }

task { "completions", sequence = 5, function(user)
  local chunks = { { choices = { { index = 0, text = "x" } } }, { choices = { { index = 0, text = "y", finish_reason = "stop" } } }, DONE }
  local request = { model = "m", prompt = "go", max_tokens = 9, path = "/respond", name = "text", body = { respond = { text = stream_of(chunks) } } }
  local answer = llm.completion(user, request)
  same(answer.text, "xy", "text")
  same(answer.output_tokens, 2, "tokens")
  local sent = llm.completion(user, { model = "m", prompt = "go", max_tokens = 9, path = "/echo", name = "echo", stream = false, body = { seed = 1 } })
  same(sent.error, "the response is not a completion", "an echo")
end }

task { "goodput", sequence = 6, function(user)
  local chunks = { delta { content = "a" }, delta { content = "b" }, STOP, DONE }
  chat_stream(user, "good", chunks, { goodput = { ttft = "1h", tpot = 3600, e2e = "60m" } })
  chat_stream(user, "good", chunks, { goodput = { ttft = "0.001us" } })
  chat_stream(user, "good", { delta { content = "a" } }, { goodput = { ttft = "1h" } })
  chat_stream(user, "good", { delta { content = "a" }, STOP }, { goodput = { tpot = "0us" } })
end }

task { "prompts", sequence = 7, function()
  local fewest, most = math.huge, 0
  for _ = 1, 50 do
    local prompt = made:next()
    local _, count = prompt.text:gsub("%S+", "")
    fewest, most = math.min(fewest, count), math.max(most, count)
    same(prompt.messages[1].content, prompt.text, "the text as a message")
    same(prompt.output_tokens >= 20 and prompt.output_tokens <= 60, true, "tokens to ask for")
  end
  same(fewest >= 50 and most <= 150 and fewest < most, true, ("spread: %d to %d"):format(fewest, most))
  local expected = {
    { "what is a goose?", "user", 3 }, { "be brief\nand a gander?", "system", 2 }, { "only a prompt", "user", 12 }, { "a text", "user" },
    { "and who are you?\na goose\nreally?", "user", 1 }, { "what is a goose?", "user", 3 },
  }
  for at, one in ipairs(expected) do
    local prompt = files[1]:next()
    same(prompt.text, one[1], "row " .. at)
    same(prompt.messages[1].role, one[2], "its role")
    same(prompt.output_tokens, one[3], "its reply")
  end
  same(files[2]:next().text, "first", "a list in JSON")
  local talk = talks:next()
  local seen = {}
  for turn in talk:turns() do
    local texts = {}
    for at, message in ipairs(turn.messages) do texts[at] = message.role .. ": " .. message.content end
    seen[#seen + 1] = ("%d %s %s %s"):format(turn.number, turn.last, turn.output_tokens, table.concat(texts, ", "))
    if turn.number == 1 then turn:reply { ok = true, message = { role = "assistant", content = "honk" } } end
    if turn.number == 2 then turn:reply { ok = false } end
  end
  same(table.concat(seen, "; "), "1 false 3 user: what is a goose?; 2 true nil user: what is a goose?, assistant: honk, user: more", "two turns")
  for turn in talks:next():turns() do same(turn.messages[1].role, "system", "a row without a question is left out") end
  local replies = {}
  for turn in talks:next():turns() do replies[#replies + 1] = #turn.messages end
  same(table.concat(replies, " "), "1 3", "with the reply of the data set")
  local count = 0
  for turn in made_talks:next():turns() do
    count = count + 1
    same(#turn.messages, count, "what was said before, without answers")
    same(turn.output_tokens, 4, "tokens")
  end
  same(count, 2, "turns")
  raises("no row of 'data/no_prompts.json' has a prompt", empty.next, empty)
end }

task { "mistakes", sequence = 8, function(user)
  local function wrong(part, fields) raises(part, llm.chat, user, fields) end
  raises("tests/lua/llm.lua:", function() llm.chat(user, { model = "m", messages = HELLO, temperature = 0 }) end)
  raises("tests/lua/llm.lua:", function() llm.chat(user, { model = "m", messages = HELLO, goodput = 1 }) end)
  raises("tests/lua/llm.lua:", function() llm.chat { model = "m", messages = HELLO } end)
  raises("tests/lua/llm.lua:", function() llm.limits { ttft = "x" } end)
  raises("tests/lua/llm.lua:", function() llm.limits { tttf = 1 } end)
  raises("tests/lua/llm.lua:", function() local _ = llm.prompts { token = 0 } end)
  raises("tests/lua/llm.lua:", function() local _ = llm.prompts { input_tokens = 0 } end)
  wrong("llm.chat: unknown field 'temperature'; fields: model, messages, tools, body", { model = "m", messages = HELLO, temperature = 0 })
  wrong("llm.chat: field 'model' must be the name of a model, not nil", { messages = HELLO })
  wrong("llm.chat: field 'messages' must be a list of messages, not string", { model = "m", messages = "hello" })
  wrong("llm.chat: field 'stream' must be true or false, not string", { model = "m", messages = HELLO, stream = "yes" })
  wrong("llm.chat: field 'body' must be a table of fields, not number", { model = "m", messages = HELLO, body = 1 })
  wrong("llm.chat: field 'name' must be a string, not number", { model = "m", messages = HELLO, name = 1 })
  wrong("llm.chat, goodput: unknown limit 'tptf'; limits: ttft, tpot, e2e", { model = "m", messages = HELLO, goodput = { tptf = 1 } })
  wrong("stream, tags, timeout; any other field of the API goes into 'body'", { model = "m", messages = HELLO, top_p = 1 })
  wrong("llm.chat takes the user and a table: llm.chat(user, { model = \"demo\", messages = … })", nil)
  raises("llm.completion: field 'prompt' must be a string, not nil", llm.completion, user, { model = "m" })
  raises("llm.limits: limit 'ttft' must be a number of seconds or a time such as \"300ms\"", llm.limits, { ttft = "300" })
  raises("llm.limits: limit 'e2e' must", llm.limits, { e2e = "5 parsecs" })
  raises("llm.limits takes a table", llm.limits, 5)
  raises("llm.prompts takes either a 'file' or a number of 'input_tokens'", llm.prompts, {})
  raises("llm.prompts: unknown option 'tokens'", llm.prompts, { tokens = 5 })
  raises("llm.prompts: option 'input_tokens' must be a whole number from 1 on", llm.prompts, { input_tokens = 0.5 })
  raises("llm.prompts: option 'spread' must be a number from 0 to 1", llm.prompts, { input_tokens = 5, spread = 20 })
  raises("llm.prompts takes a table", llm.prompts, "x")
end }
