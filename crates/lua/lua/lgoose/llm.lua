---Language models behind OpenAI's API, which vLLM, SGLang, llama.cpp, Ollama and many services have, or behind Anthropic's, with the
---usual figures: time to first token, time per output token, inter-token latency, tokens, goodput.
---
---    local llm = require "lgoose.llm"
---    local response = llm.chat(user, { model = "demo", messages = { { role = "user", content = "hello" } }, max_tokens = 128 })
---
---Each request is a row of the report and adds to metrics whose names start with its name: `chat ttft_ms`, `chat tpot_ms`, `chat itl_ms`, `chat e2e_ms`,
---`chat input_tokens`, `chat output_tokens`, and with limits `chat goodput`.
---@class lgoose.llm
local llm = {}

---@class lgoose.llm.Request
---@field model string
---@field max_tokens? integer # the maximum number of tokens of the response (default: up to the server)
---@field stream? boolean # whether the response comes token by token (default: true)
---@field name? string # the row of the report, and the start of the metrics' names (default: that of the function, such as "chat")
---@field path? string # (default: that of the API, such as "/v1/chat/completions")
---@field body? table<string, any> # additional fields of the request, such as temperature; { stream_options = false } leaves out the request for usage
---@field goodput? lgoose.llm.Limits # the limits of this request (default: those of `llm.limits`)
---@field headers? table<string, string|number|boolean>
---@field expect? lgoose.Expect # for a streamed response: its status and headers
---@field timeout? lgoose.Duration # for a streamed response: the longest time without a byte
---@field max_buffer? integer # bytes of a streamed response that may wait for the plan
---@field tags? table<string, string|number|boolean>

---@class lgoose.llm.ChatRequest: lgoose.llm.Request
---@field messages table[] # such as { { role = "user", content = "hello" } }
---@field tools? table[] # the tools that the model may call, as the API has them

---@class lgoose.llm.CompletionRequest: lgoose.llm.Request
---@field prompt string|string[]

---@class lgoose.llm.ResponseRequest: lgoose.llm.Request
---@field input string|table[] # a text, or a list of items
---@field tools? table[] # the tools that the model may call, as the API has them

---@class lgoose.llm.EmbeddingRequest
---@field model string
---@field input string|string[] # one text or several
---@field name? string # (default: "embeddings")
---@field path? string # (default: "/v1/embeddings")
---@field body? table<string, any> # additional fields of the request, such as dimensions
---@field goodput? lgoose.llm.Limits
---@field headers? table<string, string|number|boolean>
---@field expect? lgoose.Expect
---@field timeout? lgoose.Duration
---@field tags? table<string, string|number|boolean>

---Limits that a request must keep to count as good, in seconds or as "300ms".
---@class lgoose.llm.Limits
---@field ttft? lgoose.Duration
---@field tpot? lgoose.Duration
---@field e2e? lgoose.Duration

---The result of a request. Times are seconds from the start of the request.
---@class lgoose.llm.Result
---@field ok boolean # whether the request counts as a success
---@field error? string # why it failed
---@field status integer # 0 without a response
---@field id? string # the ID of the completion
---@field text string # the text received, also if the request failed
---@field reasoning? string # the reasoning of the model before the text
---@field refusal? string # the model's words if it refuses to answer
---@field tool_calls? lgoose.llm.ToolCall[] # the tools that the model wants called
---@field message? table # what to append to the messages to continue the conversation (`llm.chat`, `llm.message`)
---@field output? table[] # the items to append to the input to continue the conversation (`llm.response`)
---@field embeddings? number[][] # one for each text (`llm.embeddings`)
---@field finish_reason? string # "stop", "length", "tool_calls", "content_filter" … as the API has it
---@field usage? table<string, any> # as sent by the server
---@field input_tokens? integer # by usage
---@field output_tokens? integer # by usage, else the number of events with content
---@field tokens_by? "usage"|"events" # the source of output_tokens
---@field ttft? number # until the first event with content or reasoning
---@field ttfo? number # until the first event with content, after reasoning
---@field itl number[] # the times from one event with content or reasoning to the next
---@field tpot? number # (e2e - ttft) / (output_tokens - 1)
---@field e2e? number # until the last event with content; without streaming, until the last byte

---A call of a tool by the model. Respond with a message such as { role = "tool", tool_call_id = call.id, content = "12 degrees" }.
---@class lgoose.llm.ToolCall
---@field id? string
---@field name? string # of the tool
---@field arguments string # as JSON: `json.decode(call.arguments)`
---@field type string # "function", or "custom", whose arguments are any text

---A prompt to send.
---@class lgoose.llm.Prompt
---@field messages table[] # for `llm.chat`
---@field text string # for `llm.completion`
---@field output_tokens? integer # the number of tokens to request

---@class lgoose.llm.Prompts
---@field next fun(self: lgoose.llm.Prompts): lgoose.llm.Prompt

---@class lgoose.llm.Conversations
---@field next fun(self: lgoose.llm.Conversations): lgoose.llm.Conversation

---@class lgoose.llm.Conversation
---@field turns fun(self: lgoose.llm.Conversation): fun(): lgoose.llm.Turn? # iterates over its turns

---A turn of a conversation: what the user says, after all that was said before.
---@class lgoose.llm.Turn
---@field number integer # 1 for the first
---@field last boolean # whether it is the last one
---@field messages table[] # for `llm.chat`: all messages so far
---@field output_tokens? integer # the number of tokens to request
---@field reply fun(self: lgoose.llm.Turn, answer: lgoose.llm.Result) # has the next turn continue with this answer, instead of the reply of the data set

---@class lgoose.llm.PromptOptions
---@field file? string # JSON or JSON Lines next to the plan: rows of ShareGPT (`conversations`), or with `messages`, `prompt` or `text`
---@field order? "circular"|"random"|"unique"|"sequential" # of the rows (default: "circular")
---@field input_tokens? integer # generate prompts of about this many tokens, one for each word
---@field output_tokens? integer # request about this many tokens
---@field spread? number # how much the numbers of tokens vary, as a share from 0 to 1 (default: 0)

---@class lgoose.llm.ConversationOptions: lgoose.llm.PromptOptions
---@field turns? integer # the turns of each generated conversation (default: 3)

local STREAMED = "body, expect, goodput, headers, max_buffer, max_tokens, name, path, stream, tags, timeout"
local CHAT = { name = "chat", path = "/v1/chat/completions", input = "messages", part = "openai", fields = "model, messages, tools, " .. STREAMED }
local COMPLETION = { name = "completion", path = "/v1/completions", input = "prompt", part = "openai", fields = "model, prompt, " .. STREAMED }
local RESPONSE = { name = "response", path = "/v1/responses", input = "input", part = "responses", fields = "model, input, tools, " .. STREAMED }
local MESSAGE = { name = "message", path = "/v1/messages", input = "messages", part = "anthropic", fields = "model, messages, tools, " .. STREAMED }
local EMBEDDINGS = {
  name = "embeddings",
  path = "/v1/embeddings",
  input = "input",
  part = "embeddings",
  fields = "model, input, body, expect, goodput, headers, name, path, tags, timeout",
}
local PASSED_ON = { "headers", "expect", "timeout", "tags" }
local SECONDS = { us = 1e-6, ms = 1e-3, s = 1, m = 60, h = 3600 }

local concat, decode, kind_of, sort = table.concat, json.decode, math.type, table.sort
local error, ipairs, pairs, pcall, tostring, type = error, ipairs, pairs, pcall, tostring, type

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

-- Returns the parts of a response of which nothing has come.
function core.new() return { text = {}, reasoning = {}, refusal = {}, calls = {}, blocks = {} } end

-- Returns a text that is not empty; JSON's null is not one.
function core.text_of(value) return type(value) == "string" and value ~= "" and value or nil end

-- Adds a text to those of a response; returns whether there is one.
function core.add(all, field, text)
  if type(text) ~= "string" or text == "" then return false end
  local list = all[field]
  list[#list + 1] = text
  return true
end

-- Returns the call of a tool at that place of the response.
function core.call_at(all, place)
  local at = kind_of(place) == "integer" and place or 0
  local call = all.calls[at]
  if not call then
    call = { type = "function", arguments = "" }
    all.calls[at] = call
  end
  return call
end

local text_of = core.text_of

-- The limits that all requests must keep.
local limits

-- Raises for a field that is not in the list, at the line that called the module's function: so many calls up from here.
local function refuse_unknown(owner, what, options, fields, level, more)
  for name in pairs(options) do
    if not (", " .. fields .. ","):find(", " .. tostring(name) .. ",", 1, true) then
      error(("%s: unknown %s '%s'; %ss: %s%s"):format(owner, what, tostring(name), what, fields, more or ""), level)
    end
  end
end

-- Returns limits in seconds.
local function read_limits(owner, given, level)
  if type(given) ~= "table" then error(owner .. " takes a table, such as { ttft = 0.3 }", level) end
  refuse_unknown(owner, "limit", given, "ttft, tpot, e2e", level + 1)
  local read = {}
  for name, limit in pairs(given) do
    local number, unit = tostring(limit):match "^(%d+%.?%d*)(%a*)$"
    local seconds = number and (unit == "" and type(limit) == "number" and 1 or SECONDS[unit])
    if not seconds then error(("%s: limit '%s' must be a number of seconds or a time such as \"300ms\""):format(owner, name), level) end
    read[name] = number * seconds
  end
  return read
end

---Sets the limits that a request must keep to count as good in the metric `… goodput`, for all requests of the plan. Call it at the top
---level of the file.
---@param given lgoose.llm.Limits
function llm.limits(given)
  limits = read_limits("llm.limits", given, 3)
end

local all_metrics = {}

local function metrics_of(name)
  local metrics = all_metrics[name]
  if not metrics then
    metrics = {}
    for _, figure in ipairs { "ttft", "ttfo", "tpot", "itl", "e2e" } do
      metrics[figure] = metric.trend(("%s %s_ms"):format(name, figure))
    end
    metrics.input_tokens = metric.counter(name .. " input_tokens")
    metrics.output_tokens = metric.counter(name .. " output_tokens")
    metrics.goodput = metric.rate(name .. " goodput")
    all_metrics[name] = metrics
  end
  return metrics
end

-- A limit on a figure that a response does not have is kept: one token has no time per output token.
local function is_good(result, kept)
  if not result.ok then return false end
  for name, limit in pairs(kept) do
    if result[name] and result[name] > limit then return false end
  end
  return true
end

local function measure(result, name, kept)
  local metrics = metrics_of(name)
  if kept then metrics.goodput:add(is_good(result, kept)) end
  -- As in other tools: figures are of requests that succeeded.
  if not result.ok then return end
  for _, figure in ipairs { "ttft", "tpot", "e2e" } do
    if result[figure] then metrics[figure]:add(result[figure] * 1000) end
  end
  if result.reasoning and result.ttfo then metrics.ttfo:add(result.ttfo * 1000) end
  for _, gap in ipairs(result.itl) do metrics.itl:add(gap * 1000) end
  if result.input_tokens then metrics.input_tokens:add(result.input_tokens) end
  if result.output_tokens then metrics.output_tokens:add(result.output_tokens) end
end

-- Returns the message of an error in the shape of these APIs, or nil.
local function error_in(value)
  if type(value) ~= "table" then return nil end
  local problem = value.error
  if type(problem) == "table" then return text_of(problem.message) or next(problem) ~= nil and json.encode(problem) or nil end
  -- Older versions of vLLM and others.
  if value.object == "error" then return text_of(value.message) or "error" end
  if problem == true or type(problem) == "number" and problem ~= 0 then return tostring(problem) end
  return text_of(problem)
end

-- Counts tokens: by the server's usage, else by events. Anthropic counts cached tokens of the prompt for themselves.
local function count_tokens(result, events)
  local usage = result.usage or {}
  local function count_of(...)
    for _, field in ipairs { ... } do
      if kind_of(usage[field]) == "integer" then return usage[field] end
    end
  end
  local input = count_of("prompt_tokens", "input_tokens")
  if input then
    result.input_tokens = input + (count_of "cache_creation_input_tokens" or 0) + (count_of "cache_read_input_tokens" or 0)
  end
  local output = count_of("completion_tokens", "output_tokens")
  if output and output > 0 then
    result.output_tokens, result.tokens_by = output, "usage"
  elseif events > 0 then
    result.output_tokens, result.tokens_by = events, "events"
  end
  if result.ttft and result.output_tokens and result.output_tokens > 1 then
    result.tpot = (result.e2e - result.ttft) / (result.output_tokens - 1)
  end
end

-- Returns why a response counts as failed by its status; a status that the plan expects is no failure.
local function status_problem(result, options, body)
  if result.status < 400 or options.expect and options.expect.status then return nil end
  local ok, value = pcall(decode, body)
  local message = ok and error_in(value)
  return message and ("status %d: %s"):format(result.status, message:sub(1, 200))
end

-- Completes a result by the parts that have come.
local function fill(result, parts, reader)
  result.text = concat(parts.text)
  if parts.reasoning[1] then result.reasoning = concat(parts.reasoning) end
  if parts.refusal[1] then result.refusal = concat(parts.refusal) end
  local places = {}
  for place in pairs(parts.calls) do places[#places + 1] = place end
  if places[1] then
    sort(places)
    result.tool_calls = {}
    for at, place in ipairs(places) do result.tool_calls[at] = parts.calls[place] end
  end
  if reader.message then result.message = reader.message(result, parts) end
end

-- Notes when an event with output or reasoning has come.
local function note_time(result, at, is_output)
  if is_output and not result.ttfo then result.ttfo = at end
  if result.ttft then
    result.itl[#result.itl + 1] = at - result.e2e
  else
    result.ttft = at
  end
  result.e2e = at
end

local function never() return false end

local function read_events(result, stream, reader)
  local parts, events, chunks, problem = core.new(), 0, 0, nil
  local is_done = false
  local function fail(reason)
    -- The first reason stays.
    if not problem then
      problem = reason
      stream:fail(reason)
    end
    return false
  end
  local function counts(event)
    if problem then return false end
    if event.data:find("[DONE]", 1, true) == 1 then
      is_done = true
      return false
    end
    local ok, chunk = pcall(decode, event.data)
    if not ok or type(chunk) ~= "table" then return fail("an event of the stream is not JSON: " .. event.data:sub(1, 80)) end
    chunks = chunks + 1
    local failed = error_in(chunk)
    local output, reasoning = false, false
    if not failed then
      output, reasoning, failed = reader.event(result, parts, chunk)
    end
    if failed then return fail("the stream has an error: " .. failed) end
    if not output and not reasoning then return false end
    note_time(result, event.at, output)
    events = events + 1
    return true
  end
  local function last() return is_done or problem ~= nil or reader.is_last and reader.is_last(result) end
  local function at_end()
    if is_done then return end
    local kind = stream.headers["content-type"] or ""
    if chunks == 0 and kind:find("json", 1, true) then
      fail("the response is not an event stream but " .. kind)
    else
      local reason = reader.incomplete(result)
      if reason then fail(reason) end
    end
  end
  for _ in stream:events { counts = counts, last = last, at_end = at_end, to_end = true } do end
  result.is_over = nil
  fill(result, parts, reader)
  result.error = stream.error
  count_tokens(result, events)
end

-- Reads the response of an error.
local function read_error(result, stream, options)
  local body = {}
  local function at_end()
    local problem = status_problem(result, options, concat(body))
    if problem then stream:fail(problem) end
  end
  for chunk in stream:chunks { counts = never, at_end = at_end, to_end = true } do body[#body + 1] = chunk end
  result.error = stream.error
end

local function receive_stream(user, path, options, reader)
  options.stream = true
  local stream = user:post(path, nil, options)
  local result = { status = stream.status, text = "", itl = {} }
  if stream.status == 0 then
    result.error = stream.error
  elseif stream.status >= 400 then
    read_error(result, stream, options)
  else
    read_events(result, stream, reader)
  end
  result.ok = stream.ok
  return result
end

local function receive_whole(user, path, options, reader)
  local response = user:post(path, nil, options)
  local result = { status = response.status, text = "", itl = {} }
  local ok, value = pcall(decode, response.body)
  if not response.ok or response.status >= 400 then
    local problem = not response.ok and status_problem(result, options, response.body)
    if problem then response:fail(problem) end
  else
    local problem = ok and error_in(value)
    local parts, is_right = core.new(), false
    if problem then
      problem = "the response has an error: " .. problem
    elseif ok and type(value) == "table" then
      is_right, problem = reader.whole(result, parts, value)
    end
    if problem or not is_right then response:fail(problem or "the response is not a completion") end
    fill(result, parts, reader)
    result.e2e = response.time
    count_tokens(result, 0)
  end
  result.ok, result.error = response.ok, response.error
  return result
end

local function is_input(kind, input)
  if kind == CHAT or kind == MESSAGE then return type(input) == "table", "a list of messages" end
  return type(input) == "string" or type(input) == "table", "a string"
end

-- Adds the version of Anthropic's API to headers that have none.
local function with_version(headers)
  local own = { ["anthropic-version"] = "2023-06-01" }
  for name, value in pairs(type(headers) == "table" and headers or {}) do own[tostring(name):lower()] = value end
  return own
end

-- Sends a request of that kind and measures its response.
local function send(kind, owner, user, options)
  if type(options) ~= "table" then
    error(('%s takes the user and a table: %s(user, { model = "demo", %s = … })'):format(owner, owner, kind.input), 3)
  end
  refuse_unknown(owner, "field", options, kind.fields, 4, "; any other field of the API goes into 'body'")
  local function refuse(field, what) error(("%s: field '%s' must be %s, not %s"):format(owner, field, what, type(options[field])), 4) end
  if type(options.model) ~= "string" then refuse("model", "the name of a model") end
  local input = options[kind.input]
  local is_right, what = is_input(kind, input)
  if not is_right then refuse(kind.input, what) end
  if options.body ~= nil and type(options.body) ~= "table" then refuse("body", "a table of fields") end
  if options.tools ~= nil and type(options.tools) ~= "table" then refuse("tools", "a list of tools") end
  if options.name ~= nil and type(options.name) ~= "string" then refuse("name", "a string") end
  if options.stream ~= nil and type(options.stream) ~= "boolean" then refuse("stream", "true or false") end
  local kept = limits
  if options.goodput ~= nil then kept = read_limits(owner .. ", goodput", options.goodput, 4) end

  local is_streamed, name = kind ~= EMBEDDINGS and options.stream ~= false, options.name or kind.name
  local body = {}
  if is_streamed then
    body.stream = true
    if kind.part == "openai" then body.stream_options = { include_usage = true } end
  end
  for field, value in pairs(options.body or {}) do body[field] = value end
  if not body.stream_options then body.stream_options = nil end
  body.model, body[kind.input], body.tools = options.model, input, options.tools or body.tools
  if options.max_tokens ~= nil then body[kind == RESPONSE and "max_output_tokens" or "max_tokens"] = options.max_tokens end

  local request = { json = body, name = name }
  for _, field in ipairs(PASSED_ON) do request[field] = options[field] end
  if kind == MESSAGE then request.headers = with_version(options.headers) end
  if is_streamed then request.max_buffer = options.max_buffer end
  local receive = is_streamed and receive_stream or receive_whole
  local result = receive(user, options.path or kind.path, request, core.keep(kind.part))
  measure(result, name, kept)
  return result
end

---Sends messages and reads the response. A failure never raises an error: see `ok` and `error` of the result.
---@param user lgoose.User
---@param request lgoose.llm.ChatRequest
---@return lgoose.llm.Result
function llm.chat(user, request)
  local result = send(CHAT, "llm.chat", user, request)
  return result
end

---Sends a prompt and reads the response, as `llm.chat` does with messages.
---@param user lgoose.User
---@param request lgoose.llm.CompletionRequest
---@return lgoose.llm.Result
function llm.completion(user, request)
  local result = send(COMPLETION, "llm.completion", user, request)
  return result
end

---Sends an input to OpenAI's Responses API and reads the response. The conversation goes on with the `output` of the result, or with
---its `id` as `body = { previous_response_id = … }`.
---@param user lgoose.User
---@param request lgoose.llm.ResponseRequest
---@return lgoose.llm.Result
function llm.response(user, request)
  local result = send(RESPONSE, "llm.response", user, request)
  return result
end

---Sends messages to Anthropic's Messages API and reads the response. The API wants `max_tokens`, and its key as a header:
---`headers = { ["x-api-key"] = env "KEY" }`.
---@param user lgoose.User
---@param request lgoose.llm.ChatRequest
---@return lgoose.llm.Result
function llm.message(user, request)
  local result = send(MESSAGE, "llm.message", user, request)
  return result
end

---Sends texts and reads a vector for each, in `embeddings` of the result.
---@param user lgoose.User
---@param request lgoose.llm.EmbeddingRequest
---@return lgoose.llm.Result
function llm.embeddings(user, request)
  local result = send(EMBEDDINGS, "llm.embeddings", user, request)
  return result
end

-- Checks the options for prompts or conversations.
local function check_source(owner, options, fields)
  if type(options) ~= "table" then error(owner .. " takes a table, such as { input_tokens = 512 }", 3) end
  local function refuse(field, what) error(("%s: option '%s' must be %s"):format(owner, field, what), 4) end
  refuse_unknown(owner, "option", options, fields, 4)
  if (options.file == nil) == (options.input_tokens == nil) then
    error(owner .. " takes either a 'file' or a number of 'input_tokens'", 3)
  end
  if options.file ~= nil and type(options.file) ~= "string" then refuse("file", "the name of a file") end
  for _, field in ipairs { "input_tokens", "output_tokens", "turns" } do
    local count = options[field]
    if count ~= nil and (kind_of(count) ~= "integer" or count < 1) then refuse(field, "a whole number from 1 on") end
  end
  local spread = options.spread or 0
  if type(spread) ~= "number" or not (spread >= 0 and spread <= 1) then refuse("spread", "a number from 0 to 1") end
end

---Returns prompts: those of a file, or generated ones of random words, the same again with the same seed. `prompts:next()` returns the
---next one. Call it at the top level of the file, so that workers get the file, too.
---@param options lgoose.llm.PromptOptions
---@return lgoose.llm.Prompts
function llm.prompts(options)
  check_source("llm.prompts", options, "file, order, input_tokens, output_tokens, spread")
  return { next = core.load("prompts").prompts(options) }
end

---Returns conversations of several turns: those of a file, or generated ones. Call it at the top level of the file.
---
---    for turn in conversations:next():turns() do
---      turn:reply(llm.chat(user, { model = "demo", messages = turn.messages, max_tokens = turn.output_tokens }))
---    end
---@param options lgoose.llm.ConversationOptions
---@return lgoose.llm.Conversations
function llm.conversations(options)
  check_source("llm.conversations", options, "file, order, input_tokens, output_tokens, spread, turns")
  return { next = core.load("prompts").conversations(options) }
end

return llm
