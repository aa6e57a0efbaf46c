---Chats and completions of language models behind an OpenAI-compatible API, such as that of vLLM, SGLang, llama.cpp, Ollama and many
---services, with the usual figures: time to first token, time per output token, inter-token latency, tokens, goodput.
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
---@field name? string # the row of the report, and the start of the metrics' names (default: "chat" or "completion")
---@field path? string # (default: "/v1/chat/completions" or "/v1/completions")
---@field body? table<string, any> # additional fields of the request, such as temperature; { stream_options = false } leaves out the request for usage
---@field goodput? lgoose.llm.Limits # the limits of this request (default: those of `llm.limits`)
---@field headers? table<string, string|number|boolean>
---@field expect? lgoose.Expect # for a streamed response: its status and headers
---@field timeout? lgoose.Duration # for a streamed response: the longest time without a byte
---@field max_buffer? integer # bytes of a streamed response that may wait for the plan
---@field tags? table<string, string|number|boolean>

---@class lgoose.llm.ChatRequest: lgoose.llm.Request
---@field messages table[] # such as { { role = "user", content = "hello" } }

---@class lgoose.llm.CompletionRequest: lgoose.llm.Request
---@field prompt string|string[]

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
---@field finish_reason? string # "stop", "length" …
---@field usage? table<string, any> # as sent by the server
---@field input_tokens? integer # by usage
---@field output_tokens? integer # by usage, else the number of events with content
---@field tokens_by? "usage"|"events" # the source of output_tokens
---@field ttft? number # until the first event with content or reasoning
---@field ttfo? number # until the first event with content, after reasoning
---@field itl number[] # the times from one event with content or reasoning to the next
---@field tpot? number # (e2e - ttft) / (output_tokens - 1)
---@field e2e? number # until the last event with content; without streaming, until the last byte

---A prompt to send.
---@class lgoose.llm.Prompt
---@field messages table[] # for `llm.chat`
---@field text string # for `llm.completion`
---@field output_tokens? integer # the number of tokens to request

---@class lgoose.llm.Prompts
---@field next fun(self: lgoose.llm.Prompts): lgoose.llm.Prompt

---@class lgoose.llm.PromptOptions
---@field file? string # JSON or JSON Lines next to the plan: rows of ShareGPT (`conversations`), or with `messages`, `prompt` or `text`
---@field order? "circular"|"random"|"unique"|"sequential" # of the rows (default: "circular")
---@field input_tokens? integer # generate prompts of about this many tokens, one for each word
---@field output_tokens? integer # request about this many tokens
---@field spread? number # how much the numbers of tokens vary, as a share from 0 to 1 (default: 0)

local SHARED = "body, expect, goodput, headers, max_buffer, max_tokens, name, path, stream, tags, timeout"
local CHAT = { name = "chat", path = "/v1/chat/completions", input = "messages", fields = "model, messages, " .. SHARED }
local COMPLETION = { name = "completion", path = "/v1/completions", input = "prompt", fields = "model, prompt, " .. SHARED }
local PASSED_ON = { "headers", "expect", "timeout", "tags" }
local SECONDS = { us = 1e-6, ms = 1e-3, s = 1, m = 60, h = 3600 }

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

-- Returns a text that is not empty; JSON's null is not one.
local function text_of(value)
  return type(value) == "string" and value ~= "" and value or nil
end

-- Returns the message of an error in OpenAI's shape, or nil.
local function error_in(value)
  local problem = type(value) == "table" and value.error
  if type(problem) == "table" then return text_of(problem.message) or json.encode(problem) end
  -- older versions of vLLM and others
  if type(value) == "table" and value.object == "error" then return text_of(value.message) or "error" end
  return text_of(problem)
end

-- Reads the fields that all kinds of responses have in the same places.
local function note(result, chunk)
  if type(chunk.usage) == "table" then result.usage = chunk.usage end
  result.id = result.id or text_of(chunk.id)
end

-- Reads a choice of a chunk; returns the text and the reasoning in it, and whether it has anything else that is a token.
local function read_choice(result, choice)
  result.finish_reason = text_of(choice.finish_reason) or result.finish_reason
  local delta = choice.delta
  if type(delta) ~= "table" then return text_of(choice.text) end
  local calls = delta.tool_calls
  return text_of(delta.content), text_of(delta.reasoning_content) or text_of(delta.reasoning), type(calls) == "table" and #calls > 0
end

-- Reads a chunk of the stream into the result; returns whether it has content.
local function read_chunk(result, parts, chunk, at)
  note(result, chunk)
  if type(chunk.choices) ~= "table" then return false end
  local has_content = false
  for _, choice in ipairs(chunk.choices) do
    local text, reasoning, other = read_choice(result, choice)
    has_content = has_content or text ~= nil or reasoning ~= nil or other
    -- The first of several texts.
    if choice.index == nil or choice.index == 0 then
      if text then parts.text[#parts.text + 1] = text end
      if reasoning then parts.reasoning[#parts.reasoning + 1] = reasoning end
    end
    if (text or other) and not result.ttfo then result.ttfo = at end
  end
  if not has_content then return false end
  if result.ttft then
    result.itl[#result.itl + 1] = at - result.e2e
  else
    result.ttft = at
  end
  result.e2e = at
  return true
end

-- Counts tokens: by the server's usage, else by events.
local function count_tokens(result, events)
  local usage = result.usage or {}
  if math.type(usage.prompt_tokens) == "integer" then result.input_tokens = usage.prompt_tokens end
  local output = usage.completion_tokens
  if math.type(output) == "integer" and output > 0 then
    result.output_tokens, result.tokens_by = output, "usage"
  elseif events > 0 then
    result.output_tokens, result.tokens_by = events, "events"
  end
  if result.ttft and result.output_tokens > 1 then result.tpot = (result.e2e - result.ttft) / (result.output_tokens - 1) end
end

-- Returns why a request failed: its status, and the server's message. A status that the plan expects is no failure.
local function status_problem(result, options, body)
  if result.status < 400 or options.expect and options.expect.status then return nil end
  local ok, value = pcall(json.decode, body)
  local message = ok and error_in(value)
  return message and ("status %d: %s"):format(result.status, message:sub(1, 200))
end

local function never() return false end

local function read_events(result, stream)
  local parts, events, done = { text = {}, reasoning = {} }, 0, false
  local function counts(event)
    if event.data == "[DONE]" then
      done = true
      return false
    end
    local ok, chunk = pcall(json.decode, event.data)
    if not ok or type(chunk) ~= "table" then
      stream:fail("an event of the stream is not JSON: " .. event.data:sub(1, 80))
      return false
    end
    local problem = error_in(chunk)
    if problem then
      result.problem = problem
      stream:fail("the stream has an error: " .. problem)
      return false
    end
    if not read_chunk(result, parts, chunk, event.at) then return false end
    events = events + 1
    return true
  end
  local function at_end()
    if result.problem then return end
    if not done and not result.finish_reason then
      stream:fail "the stream ended without a finish_reason and without [DONE]"
    elseif events == 0 then
      stream:fail "the stream has no content"
    end
  end
  for _ in stream:events { counts = counts, at_end = at_end, to_end = true } do end
  result.problem = nil
  result.text = table.concat(parts.text)
  if #parts.reasoning > 0 then result.reasoning = table.concat(parts.reasoning) end
  result.error = stream.error
  count_tokens(result, events)
end

-- Reads a response that is not a stream of events: an error, or the response of a server that does not stream.
local function read_other(result, stream, kind, options)
  local body = {}
  local function at_end()
    local problem = status_problem(result, options, table.concat(body))
    if stream.status < 400 then problem = "the response is not an event stream but " .. kind end
    if problem then stream:fail(problem) end
  end
  for chunk in stream:chunks { counts = never, at_end = at_end, to_end = true } do body[#body + 1] = chunk end
  result.error = stream.error
end

local function receive_stream(user, path, options)
  options.stream = true
  local stream = user:post(path, nil, options)
  local result = { status = stream.status, text = "", itl = {} }
  local kind = stream.headers["content-type"] or ""
  if stream.status == 0 then
    result.error = stream.error
  elseif stream.status >= 400 or kind:find("application/json", 1, true) then
    read_other(result, stream, kind, options)
  else
    read_events(result, stream)
  end
  result.ok = stream.ok
  return result
end

local function receive_whole(user, path, options)
  local response = user:post(path, nil, options)
  local result = { status = response.status, text = "", itl = {} }
  if not response.ok then
    local problem = status_problem(result, options, response.body)
    if problem then response:fail(problem) end
    result.ok, result.error = false, response.error
    return result
  end
  local ok, whole = pcall(json.decode, response.body)
  local choices = ok and type(whole) == "table" and whole.choices
  local choice = type(choices) == "table" and choices[1]
  if type(choice) == "table" then
    local message = type(choice.message) == "table" and choice.message or {}
    note(result, whole)
    result.finish_reason = text_of(choice.finish_reason)
    result.text = text_of(message.content) or text_of(choice.text) or ""
    result.reasoning = text_of(message.reasoning_content) or text_of(message.reasoning)
    result.e2e = response.time
    count_tokens(result, 0)
  else
    local problem = ok and error_in(whole)
    response:fail(problem and "the response has an error: " .. problem or "the response is not a completion")
  end
  result.ok, result.error = response.ok, response.error
  return result
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
  if kind == CHAT and type(input) ~= "table" then refuse("messages", "a list of messages") end
  if kind == COMPLETION and type(input) ~= "string" and type(input) ~= "table" then refuse("prompt", "a string") end
  if options.body ~= nil and type(options.body) ~= "table" then refuse("body", "a table of fields") end
  if options.name ~= nil and type(options.name) ~= "string" then refuse("name", "a string") end
  if options.stream ~= nil and type(options.stream) ~= "boolean" then refuse("stream", "true or false") end
  local kept = limits
  if options.goodput ~= nil then kept = read_limits(owner .. ", goodput", options.goodput, 4) end

  local is_streamed, name = options.stream ~= false, options.name or kind.name
  local body = {}
  if is_streamed then body.stream, body.stream_options = true, { include_usage = true } end
  for field, value in pairs(options.body or {}) do body[field] = value end
  if not body.stream_options then body.stream_options = nil end
  body.model, body[kind.input] = options.model, input
  if options.max_tokens ~= nil then body.max_tokens = options.max_tokens end

  local request = { json = body, name = name }
  for _, field in ipairs(PASSED_ON) do request[field] = options[field] end
  if is_streamed then request.max_buffer = options.max_buffer end
  local receive = is_streamed and receive_stream or receive_whole
  local result = receive(user, options.path or kind.path, request)
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

local function words(text)
  local _, count = text:gsub("%S+", "")
  return count
end

-- The words of generated prompts: each is one token for most models, with the space before it.
local VOCABULARY = [[
  the of and to in is that for it was on are as with at be this have from or had by not but what all were when we there can an your
  which their said if do will each about how up out them then she many some so these would other into has more her two like him see
  time could no make than first been its who now people my made over did down only way find use may water long little very after words
  called just where most know get through back much before go good new write our used me man too any day same right look think also
  around another came come work three word must because does part even place well such here take why things help put years different
  away again off went old number great tell men say small every found still between name should home big give air line set own under]]

-- The words one by one, once a prompt is made.
local vocabulary

-- Returns a number around another, from the user's own random numbers.
local function around(tokens, spread)
  if spread == 0 then return tokens end
  return math.max(1, math.floor(tokens * (1 + spread * (2 * random.float() - 1)) + 0.5))
end

local function made_prompt(options)
  if not vocabulary then
    vocabulary = {}
    for word in VOCABULARY:gmatch "%a+" do vocabulary[#vocabulary + 1] = word end
  end
  local spread, list = options.spread or 0, {}
  for at = 1, around(options.input_tokens, spread) do list[at] = random.choice(vocabulary) end
  local text = table.concat(list, " ")
  local output = options.output_tokens and around(options.output_tokens, spread)
  return { messages = { { role = "user", content = text } }, text = text, output_tokens = output }
end

local ROLES = { human = "user", user = "user", system = "system", gpt = "assistant", chatgpt = "assistant", assistant = "assistant" }

-- Returns the messages up to the first reply, and that reply.
local function first_turn(turns, role_of, content_of)
  local messages, has_question = {}, false
  for at = 1, #turns do
    local role, content = ROLES[turns[at][role_of]], turns[at][content_of]
    if role == "assistant" and has_question then return messages, content end
    if role and role ~= "assistant" then
      messages[#messages + 1] = { role = role, content = content }
      has_question = has_question or role == "user"
    end
  end
  return has_question and messages or nil
end

-- Returns all messages before a last reply, and that reply.
local function whole_chat(given)
  local messages = json.copy(given)
  local last = messages[#messages]
  if last and last.role == "assistant" then
    messages[#messages] = nil
    return #messages > 0 and messages or nil, last.content
  end
  return last and messages
end

-- Returns the prompt of a row, or nil if it has none.
local function prompt_of(row)
  local messages, reply = nil, nil
  if type(row) == "string" then row = { prompt = row } end
  if type(row) ~= "table" then return nil end
  if type(row.conversations) == "table" then
    messages, reply = first_turn(row.conversations, "from", "value")
  elseif type(row.messages) == "table" then
    messages, reply = whole_chat(row.messages)
  else
    local text = text_of(row.prompt) or text_of(row.text)
    messages = text and { { role = "user", content = text } }
  end
  if not messages then return nil end
  local texts = {}
  for _, message in ipairs(messages) do texts[#texts + 1] = text_of(message.content) end
  local output = math.type(row.output_tokens) == "integer" and row.output_tokens or text_of(reply) and words(reply) or nil
  return { messages = messages, text = table.concat(texts, "\n"), output_tokens = output }
end

local function rows_of(file, order)
  local is_lines = file:find "%.jsonl$" or file:find "%.jsonl%.gz$"
  local read = is_lines and data.jsonl or data.json
  return read(file, { order = order or "circular" })
end

---Returns prompts: those of a file, or generated ones of random words, the same again with the same seed. `prompts:next()` returns the
---next one. Call it at the top level of the file, so that workers get the file, too.
---@param options lgoose.llm.PromptOptions
---@return lgoose.llm.Prompts
function llm.prompts(options)
  local owner = "llm.prompts"
  if type(options) ~= "table" then error(owner .. " takes a table, such as { input_tokens = 512 }", 2) end
  local function refuse(field, what) error(("%s: option '%s' must be %s"):format(owner, field, what), 3) end
  refuse_unknown(owner, "option", options, "file, order, input_tokens, output_tokens, spread", 3)
  if (options.file == nil) == (options.input_tokens == nil) then
    error(owner .. " takes either a 'file' or a number of 'input_tokens'", 2)
  end
  local prompts = {}
  if options.file then
    if type(options.file) ~= "string" then refuse("file", "the name of a file") end
    local rows = rows_of(options.file, options.order)
    function prompts.next()
      for _ = 1, #rows do
        local prompt = prompt_of(rows:next())
        if prompt then return prompt end
      end
      error(("%s: no row of '%s' has a prompt: 'conversations', 'messages', 'prompt' or 'text'"):format(owner, options.file), 2)
    end
    return prompts
  end
  for _, field in ipairs { "input_tokens", "output_tokens" } do
    local tokens = options[field]
    if tokens ~= nil and (math.type(tokens) ~= "integer" or tokens < 1) then refuse(field, "a whole number from 1 on") end
  end
  local spread = options.spread or 0
  if type(spread) ~= "number" or not (spread >= 0 and spread <= 1) then refuse("spread", "a number from 0 to 1") end
  function prompts.next() return made_prompt(options) end
  return prompts
end

return llm
