---GraphQL over a WebSocket with the protocol `graphql-transport-ws`, as of the package graphql-ws: queries, mutations, subscriptions.
---
---    local graphql_ws = require "lgoose.graphql_ws"
---    local client = graphql_ws.connect(user, { path = "/graphql", payload = { authorization = "Bearer secret" } })
---    local data = client:query("query Orders($n: Int!) { orders(n: $n) { id } }", { n = 5 })
---    local subscription = client:subscribe "subscription { orders { id } }"
---    local order = subscription:next(5)
---    subscription:stop()
---    client:close()
---
---The WebSocket is the row `WS graphql`; the login is the row `GQL connect`. A query is the row `GQL Orders`, by the name of its operation or the
---option `name`; it fails if its result has errors. A subscription counts as a request, too: its latency is the time until its first message.
---@class lgoose.graphql_ws
local graphql_ws = {}

---@class lgoose.graphql_ws.Options
---@field path? string # (default: "/graphql"); `ws://` and `wss://` name other hosts
---@field payload? table<string, any> # what the server finds in `connectionParams`
---@field query? table<string, any> # added to the URL
---@field headers? table<string, string|number|boolean>
---@field name? string # the row of the WebSocket (default: "graphql")
---@field timeout? lgoose.Duration # of the connection, and of each query and message (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a message (default: 1 MiB)
---@field max_messages? integer # the most messages of a subscription that wait for `next` (default: 1000)
---@field tags? table<string, string|number|boolean> # of all its rows

---@class lgoose.graphql_ws.QueryOptions
---@field name? string # the row `GQL name` (default: the name of the operation, or else its type)
---@field operation? string # which operation of several to execute
---@field timeout? lgoose.Duration

---@class lgoose.graphql_ws.Client
---@field ok boolean # whether it is connected
---@field error? string # why it is not
---@field payload? table # what the server has sent with its acknowledgement
---@field query fun(self: lgoose.graphql_ws.Client, text: string, variables?: table<string, any>, options?: lgoose.graphql_ws.QueryOptions): any, string?, table? # executes a query or a mutation, and returns its data, or nil, the first message of its errors and the whole result
---@field subscribe fun(self: lgoose.graphql_ws.Client, text: string, variables?: table<string, any>, options?: lgoose.graphql_ws.QueryOptions): lgoose.graphql_ws.Subscription # starts a subscription
---@field ping fun(self: lgoose.graphql_ws.Client, timeout?: lgoose.Duration): true?, string? # sends a ping, and waits for the pong: the row `GQL ping`
---@field close fun(self: lgoose.graphql_ws.Client)

---@class lgoose.graphql_ws.Subscription
---@field ok boolean # whether it goes on
---@field error? string # why it does not: "complete" if the server has no more messages
---@field next fun(self: lgoose.graphql_ws.Subscription, timeout?: lgoose.Duration): any, string?, table? # waits for the next message and returns its data, or nil, the reason and, where it has errors, the whole result
---@field stop fun(self: lgoose.graphql_ws.Subscription)

local connection = require "lgoose.connection"
local check, fail, seconds, wait_for, wake = connection.check, connection.fail, connection.seconds, connection.wait, connection.wake
local clock = os.clock
local error, pcall, rawget, setmetatable, sub, tostring, type = error, pcall, rawget, setmetatable, string.sub, tostring, type

local SUBPROTOCOL = "graphql-transport-ws"

local OPTIONS = {
  path = "string",
  payload = "table",
  query = "table",
  headers = "table",
  name = "string",
  timeout = "duration",
  max_buffer = "count",
  max_messages = "count",
  tags = "table",
}

local QUERY_OPTIONS = { name = "string", operation = "string", timeout = "duration" }

local PROTOCOL = "protocol: this is no message of " .. SUBPROTOCOL .. ": "

-- What the codes of the protocol mean with which a server closes the WebSocket.
local function reason_of(code)
  return ({
    [4400] = "invalid message",
    [4401] = "unauthorized",
    [4403] = "forbidden",
    [4406] = "subprotocol not acceptable",
    [4408] = "connection initialisation timeout",
    [4409] = "subscriber already exists",
    [4429] = "too many initialisation requests",
    [4499] = "terminated",
    [4500] = "internal server error",
    [4504] = "connection acknowledgement timeout",
  })[code]
end

local function reason_of_end(socket)
  local code = socket.close_code
  local known = code and reason_of(code)
  if not known then return socket.error end
  local text = socket.close_reason or ""
  return ("closed with code %d: %s%s"):format(code, known, text:lower() ~= known and text ~= "" and " (" .. text .. ")" or "")
end

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
  check(call, options, QUERY_OPTIONS, 3)
  local c = client.c
  c.latest = c.latest + 1
  local kind, name = text:match "^%s*(%l+)%s*([%a_]?[%w_]*)"
  return {
    c = c,
    id = tostring(c.latest),
    name = options.name or options.operation or name ~= "" and name or kind or "query",
    timeout = seconds(call, options.timeout, 3) or c.timeout,
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
  timeout = seconds("client:ping", timeout, 2) or c.timeout
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
  timeout = seconds("subscription:next", timeout, 2) or subscription.timeout
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

---Connects to a server.
---@param user lgoose.User
---@param options? lgoose.graphql_ws.Options
---@return lgoose.graphql_ws.Client
function graphql_ws.connect(user, options)
  options = options or {}
  if type(user) ~= "table" then error("graphql_ws.connect takes the user: graphql_ws.connect(user, { … })", 2) end
  check("graphql_ws.connect", options, OPTIONS, 2)
  local c = {
    user = user,
    row = { kind = "GQL", tags = options.tags },
    on_message = on_message,
    reason_of_end = reason_of_end,
    timeout = seconds("graphql_ws.connect", options.timeout, 2),
    most = options.max_messages or 1000,
    operations = {},
    latest = 0,
    joining = {},
  }
  connection.open(c, options.path or "/graphql", {
    name = options.name or "graphql",
    query = options.query,
    headers = options.headers,
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
    subprotocols = { SUBPROTOCOL },
  })
  local client = setmetatable({ c = c }, client_meta)
  if c.error then return client end
  local _, problem = user:timed("connect", function()
    if c.socket.subprotocol ~= SUBPROTOCOL then return nil, "protocol: the server does not take the subprotocol " .. SUBPROTOCOL end
    send(c, "connection_init", nil, options.payload)
    return wait_for(c, c.joining, c.timeout)
  end, c.row)
  c.joining = nil
  if problem then
    fail(c, problem)
  else
    c.is_open = true
  end
  return client
end

return graphql_ws
