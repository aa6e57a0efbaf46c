-- Operations and their messages. A part of `lgoose.graphql_ws`, kept with the first connection.

local core = ...

local connection = core.keep "connection"
local fail, wait_for, wake = connection.fail, connection.wait, connection.wake
local clock = os.clock
local error, pairs, pcall, rawget, setmetatable, sub, tostring, type = error, pairs, pcall, rawget, setmetatable, string.sub, tostring, type

local QUERY_OPTIONS = { name = "string", operation = "string", timeout = "duration" }

local PROTOCOL = "protocol: this is no message of graphql-transport-ws: "

local function problem_of(client) return connection.problem(client.c) end

-- Sends a message, whose payload may be nil.
local function send(c, kind, id, payload) return c.socket:send(json.encode { type = kind, id = id, payload = payload }) end

-- Returns the first message of a list of errors.
local function message_of(errors)
  local first = type(errors) == "table" and errors[1]
  local message = type(first) == "table" and first.message
  return type(message) == "string" and message or "the server names no error"
end

-- Returns why a result counts as failed; nil if it does not.
local function problem_in(result)
  local errors = result.errors
  if errors ~= nil and errors ~= json.null then return message_of(errors) end
  if result.data == nil then return "protocol: the result has neither data nor errors" end
end

local function record(operation, problem)
  local c = operation.c
  c.user:record { kind = "GQL", name = operation.name, time = clock() - operation.start, error = problem, tags = c.row.tags }
end

-- Ends an operation; "complete" is the usual end.
local function finish(operation, reason)
  local c = operation.c
  c.operations[operation.id] = nil
  operation.failure = reason
  if operation.item then wake(c, operation.item) end
  connection.wake_all(c, operation.queue)
end

-- Takes a message of an operation: a result, or a list of errors that has ended it.
local function take(operation, kind, payload)
  if kind == "complete" then return finish(operation, "complete") end
  local problem
  if kind == "error" then
    problem = message_of(payload)
  else
    problem = problem_in(payload)
  end
  if operation.is_query then
    -- Later results add to the first one.
    operation.result = operation.result or payload
    operation.problem = operation.problem or problem
    if kind == "error" then finish(operation, problem) end
    return
  end
  if problem or not operation.has_begun then
    operation.has_begun = true
    record(operation, problem)
  end
  if kind == "error" then return finish(operation, problem) end
  local c = operation.c
  if connection.push(c, operation.queue, payload) > c.most then
    send(c, "complete", operation.id)
    finish(operation, ("too many messages: %d wait for subscription:next"):format(c.most))
    record(operation, operation.failure)
  end
end

local function on_message(c, message)
  local ok, value = pcall(json.decode, message.data)
  local kind = ok and type(value) == "table" and rawget(value, "type")
  local payload = kind and value.payload
  if kind == "next" or kind == "error" or kind == "complete" then
    local operation = c.operations[value.id]
    if kind ~= "complete" and type(payload) ~= "table" or type(value.id) ~= "string" then return fail(c, PROTOCOL .. sub(message.data, 1, 80)) end
    -- One that was stopped may have messages under way.
    if operation then take(operation, kind, payload) end
  elseif kind == "ping" then
    send(c, "pong", nil, payload)
  elseif kind == "pong" then
    if c.pinging then wake(c, c.pinging) end
  elseif kind == "connection_ack" and c.joining then
    c.payload = payload
    wake(c, c.joining)
  else
    fail(c, PROTOCOL .. sub(message.data, 1, 80))
  end
end

local client_methods, methods = {}, {}

local client_meta = {
  __name = "GraphQL client",
  __index = function(client, name)
    if name == "error" then return problem_of(client) end
    if name == "ok" then return problem_of(client) == nil end
    if name == "payload" then return client.c.payload end
    return client_methods[name]
  end,
}

local subscription_meta = {
  __name = "GraphQL subscription",
  __index = function(subscription, name)
    if name == "error" then return rawget(subscription, "failure") or connection.problem(subscription.c) end
    if name == "ok" then return subscription.error == nil end
    return methods[name]
  end,
}

-- Makes an operation, which is not sent yet.
local function operation_of(client, call, text, variables, options)
  if type(text) ~= "string" then error(call .. " takes the text of an operation", 3) end
  if variables ~= nil and type(variables) ~= "table" then error(call .. ": the variables are a table", 3) end
  options = options or {}
  for key, value in pairs(type(options) == "table" and options or { options }) do
    local is_known = key == "timeout" or (key == "name" or key == "operation") and type(value) == "string"
    if not is_known then core.load "check"(call, options, QUERY_OPTIONS, 3) end
  end
  local c = client.c
  c.latest = c.latest + 1
  local kind, name = text:match "^%s*(%l+)%s*([%a_]?[%w_]*)"
  return {
    c = c,
    id = tostring(c.latest),
    name = options.name or options.operation or name ~= "" and name or kind or "query",
    timeout = core.seconds(call, options.timeout, 3) or c.timeout,
    payload = { query = text, variables = variables, operationName = options.operation },
    start = clock(),
    queue = { first = 1, last = 0 },
  }
end

local function begin(operation)
  local c = operation.c
  local problem = connection.problem(c)
  if problem then return problem end
  c.operations[operation.id] = operation
  send(c, "subscribe", operation.id, operation.payload)
  operation.payload = nil
end

local function execute(operation)
  local c = operation.c
  local problem = begin(operation)
  if problem then return nil, problem end
  operation.item = {}
  local done, missing = wait_for(c, operation.item, operation.timeout)
  if not done then
    c.operations[operation.id] = nil
    if not c.error then send(c, "complete", operation.id) end
    return nil, missing
  end
  if operation.problem then return nil, operation.problem end
  if not operation.result then return nil, "protocol: the operation has ended without a result" end
  return true
end

function client_methods.query(client, text, variables, options)
  local operation = operation_of(client, "client:query", text, variables, options)
  operation.is_query = true
  local c = client.c
  local ok, problem = c.user:timed(operation.name, function() return execute(operation) end, c.row)
  local result = operation.result
  if not ok then return nil, problem, result end
  return result.data
end

function client_methods.subscribe(client, text, variables, options)
  local subscription = setmetatable(operation_of(client, "client:subscribe", text, variables, options), subscription_meta)
  local problem = begin(subscription)
  if problem then
    subscription.failure = problem
    record(subscription, problem)
  end
  return subscription
end

function client_methods.ping(client, timeout)
  local c = client.c
  timeout = core.seconds("client:ping", timeout, 2) or c.timeout
  return c.user:timed("ping", function()
    local problem = problem_of(client)
    if problem then return nil, problem end
    c.pinging = {}
    send(c, "ping")
    return wait_for(c, c.pinging, timeout)
  end, c.row)
end

function client_methods.close(client)
  local c = client.c
  if c.error then return end
  c.error = "closed early: the plan has closed the connection"
  c.socket:close()
end

local function end_of(subscription) return subscription.error end

function methods.next(subscription, timeout)
  timeout = core.seconds("subscription:next", timeout, 2) or subscription.timeout
  local result, missing = connection.take(subscription.c, subscription.queue, timeout, end_of, subscription)
  if not result then return nil, missing end
  local problem = problem_in(result)
  if problem then return nil, problem, result end
  return result.data
end

function methods.stop(subscription)
  if subscription.error then return end
  send(subscription.c, "complete", subscription.id)
  finish(subscription, "stopped")
end

return { meta = client_meta, on_message = on_message, send = send }
