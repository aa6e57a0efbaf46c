-- Requests: how they are made, measured and read. A part of `lgoose.llm`.

local core = ...

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

-- Returns limits in seconds.
local function read_limits(owner, given, level)
  if type(given) ~= "table" then error(owner .. " takes a table, such as { ttft = 0.3 }", level) end
  core.refuse_unknown(owner, "limit", given, "ttft, tpot, e2e", level + 1)
  local read = {}
  for name, limit in pairs(given) do
    local number, unit = tostring(limit):match "^(%d+%.?%d*)(%a*)$"
    local seconds = number and (unit == "" and type(limit) == "number" and 1 or SECONDS[unit])
    if not seconds then error(("%s: limit '%s' must be a number of seconds or a time such as \"300ms\""):format(owner, name), level) end
    read[name] = number * seconds
  end
  return read
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

-- Returns why a response counts as failed by its status; a status that the plan expects is no failure. The body is what `pcall(decode, …)`
-- returns for it.
local function status_problem(result, options, ok, value)
  if result.status < 400 or options.expect and options.expect.status then return nil end
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
    local problem = status_problem(result, options, pcall(decode, concat(body)))
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
    local problem = not response.ok and status_problem(result, options, ok, value)
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
  -- The request refuses what is no table.
  if headers ~= nil and type(headers) ~= "table" then return headers end
  local own = { ["anthropic-version"] = "2023-06-01" }
  for name, value in pairs(headers or {}) do own[tostring(name):lower()] = value end
  return own
end

-- The kinds of requests, by the functions that send them.
local KINDS = { chat = CHAT, completion = COMPLETION, response = RESPONSE, message = MESSAGE, embeddings = EMBEDDINGS }

-- Sends a request of that kind and measures its response.
local function send(name, user, options)
  local kind, owner = KINDS[name], "llm." .. name
  if type(options) ~= "table" then
    error(('%s takes the user and a table: %s(user, { model = "demo", %s = … })'):format(owner, owner, kind.input), 3)
  end
  core.refuse_unknown(owner, "field", options, kind.fields, 4, "; any other field of the API goes into 'body'")
  local function refuse(field, what) error(("%s: field '%s' must be %s, not %s"):format(owner, field, what, type(options[field])), 4) end
  if type(options.model) ~= "string" then refuse("model", "the name of a model") end
  local input = options[kind.input]
  local is_right, what = is_input(kind, input)
  if not is_right then refuse(kind.input, what) end
  if options.body ~= nil and type(options.body) ~= "table" then refuse("body", "a table of fields") end
  if options.tools ~= nil and type(options.tools) ~= "table" then refuse("tools", "a list of tools") end
  if options.name ~= nil and type(options.name) ~= "string" then refuse("name", "a string") end
  if options.stream ~= nil and type(options.stream) ~= "boolean" then refuse("stream", "true or false") end
  local kept = core.limits
  if options.goodput ~= nil then kept = read_limits(owner .. ", goodput", options.goodput, 4) end

  local is_streamed, row = kind ~= EMBEDDINGS and options.stream ~= false, options.name or kind.name
  local body = {}
  if is_streamed then
    body.stream = true
    if kind.part == "openai" then body.stream_options = { include_usage = true } end
  end
  for field, value in pairs(options.body or {}) do body[field] = value end
  if not body.stream_options then body.stream_options = nil end
  body.model, body[kind.input], body.tools = options.model, input, options.tools or body.tools
  if options.max_tokens ~= nil then body[kind == RESPONSE and "max_output_tokens" or "max_tokens"] = options.max_tokens end

  local request = { json = body, name = row }
  for _, field in ipairs(PASSED_ON) do request[field] = options[field] end
  if kind == MESSAGE then request.headers = with_version(options.headers) end
  if is_streamed then request.max_buffer = options.max_buffer end
  local receive = is_streamed and receive_stream or receive_whole
  local result = receive(user, options.path or kind.path, request, core.keep(kind.part))
  measure(result, row, kept)
  return result
end

return { send = send, read_limits = read_limits }
