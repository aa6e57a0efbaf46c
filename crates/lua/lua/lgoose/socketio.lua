---Socket.IO 4 (Engine.IO 4 over a WebSocket): events both ways, acknowledgements, binary data, namespaces.
---
---    local socketio = require "lgoose.socketio"
---    local socket = socketio.connect(user, { namespace = "/chat", auth = { token = "secret" } })
---    socket:emit("typing", true)
---    local members = socket:request("join", "lobby")
---    local from, text = socket:receive("said", 5)
---    socket:disconnect()
---
---The WebSocket is the row `WS socket.io`; the login to the namespace is the row `SIO connect`, each request is the row `SIO event`. The pings
---of the server are answered whenever the user waits for anything.
---
---Arguments are values of JSON, with `json.null` for null; `socketio.binary(bytes)` sends bytes, which arrive as a string.
---@class lgoose.socketio
local socketio = {}

---@class lgoose.socketio.Options
---@field path? string # (default: "/socket.io/"); `ws://` and `wss://` name other hosts
---@field namespace? string # (default: "/")
---@field auth? table<string, any> # what the server finds in `socket.handshake.auth`
---@field query? table<string, any> # added to the URL
---@field headers? table<string, string|number|boolean>
---@field name? string # the row of the WebSocket (default: "socket.io")
---@field timeout? lgoose.Duration # of the connection, and of each acknowledgement and event (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a message, or of all binary data of an event (default: 1 MiB)
---@field max_events? integer # the most events of a name that wait for `receive` (default: 1000)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection to a namespace.
---@class lgoose.socketio.Socket
---@field ok boolean # whether it is connected
---@field error? string # why it is not
---@field id? string # the ID that the server has given it
---@field refusal? table # the error of a server that has refused it: { message = …, data = … }
---@field emit fun(self: lgoose.socketio.Socket, event: string, ...: any): true?, string? # sends an event; nil and the reason if it is not connected
---@field request fun(self: lgoose.socketio.Socket, event: string|lgoose.socketio.Request, ...: any): ... # sends an event, and returns what the server acknowledges it with (true if that is nothing), or nil and the reason
---@field receive fun(self: lgoose.socketio.Socket, event: string, timeout?: lgoose.Duration): ... # waits for the next event of this name, and returns its arguments (true if it has none), or nil and the reason; a function that acknowledges the event follows if the server wants that
---@field on fun(self: lgoose.socketio.Socket, event: string, fn?: fun(...: any): ...) # calls a function for each event of this name whenever the user waits; what it returns is the acknowledgement. "disconnect" stands for the end of the connection, which is no failure then
---@field namespace fun(self: lgoose.socketio.Socket, name: string, options?: lgoose.socketio.NamespaceOptions): lgoose.socketio.Socket # connects to a further namespace over the same WebSocket
---@field disconnect fun(self: lgoose.socketio.Socket) # leaves the namespace, and closes the WebSocket if that was the last

---An event, its arguments and how it is sent: { "say", "hello", name = "say hello", timeout = "2s" }.
---@class lgoose.socketio.Request
---@field [integer] any # the event, and its arguments
---@field name? string # the row `SIO name` (default: the event)
---@field timeout? lgoose.Duration # for the acknowledgement

---@class lgoose.socketio.NamespaceOptions
---@field auth? table<string, any>
---@field timeout? lgoose.Duration

local connection = require "lgoose.connection"
local fail, push, shift, wait_for, wake = connection.fail, connection.push, connection.shift, connection.wait, connection.wake
local byte, match, sub = string.byte, string.match, string.sub
local error, getmetatable, next, pairs, pcall, select = error, getmetatable, next, pairs, pcall, select
local rawget, setmetatable, tonumber, tostring, type, unpack = rawget, setmetatable, tonumber, tostring, type, table.unpack

local OPTIONS = {
  path = "string",
  namespace = "string",
  auth = "table",
  query = "table",
  headers = "table",
  name = "string",
  timeout = "duration",
  max_buffer = "count",
  max_events = "count",
  tags = "table",
}

local NAMESPACE_OPTIONS = { auth = "table", timeout = "duration" }

local REQUEST_OPTIONS = { name = "string", timeout = "duration" }

-- Names that are not those of events.
local RESERVED = { connect = true, connect_error = true, disconnect = true, disconnecting = true }

local PROTOCOL = "protocol: this is no packet of Socket.IO 4: "

-- The most names of events that nobody has received which are kept, and pieces of binary data in an event.
local MOST_NAMES, MOST_PIECES = 1000, 1000

local null = json.null
local binary_meta = { __name = "binary data" }
-- Values are searched for binary data once a plan has made some.
local has_binary = false

---Marks a string as bytes: it is sent as binary data, and arrives as a Buffer.
---@param bytes string
---@return table
function socketio.binary(bytes)
  if type(bytes) ~= "string" then error("socketio.binary takes a string", 2) end
  has_binary = true
  return setmetatable({ bytes }, binary_meta)
end

-- Packets ------------------------------------------------------------------------------------------------

-- Sends a packet with its binary data. What others send meanwhile follows it.
local function transmit(c, text, pieces)
  local socket, held = c.socket, c.held
  if held then
    held[#held + 1] = { text, pieces }
    return true
  elseif not pieces or #pieces == 0 then
    return socket:send(text)
  end
  held = {}
  c.held = held
  local is_whole = false
  local _ <close> = setmetatable({}, {
    __close = function()
      c.held = nil
      if not is_whole then c.error = c.error or "closed early: the sending of binary data was cancelled" end
    end,
  })
  local sent = socket:send(text)
  for i = 1, #pieces do
    sent = socket:send_binary(pieces[i])
  end
  is_whole = true
  c.held = nil
  for i = 1, #held do
    transmit(c, held[i][1], held[i][2])
  end
  return sent
end

-- Returns a value with placeholders for its binary data, which is appended to the pieces; a copy where it has some.
local function extract(value, pieces)
  if type(value) ~= "table" then return value end
  if getmetatable(value) == binary_meta then
    pieces[#pieces + 1] = value[1]
    return { _placeholder = true, num = #pieces - 1 }
  end
  local copy
  for key, part in next, value do
    local sent = extract(part, pieces)
    if sent ~= part and not copy then
      copy = {}
      for name, old in next, value do
        copy[name] = old
      end
    end
    if copy then copy[key] = sent end
  end
  return copy or value
end

-- Returns a value with its binary data in place of the placeholders; nil if there is none for one of them.
local function restore(value, pieces)
  if type(value) ~= "table" then return value end
  if rawget(value, "_placeholder") == true then
    local number = rawget(value, "num")
    return math.type(number) == "integer" and pieces[number + 1] or nil
  end
  for key, part in next, value do
    local whole = restore(part, pieces)
    if whole == nil then return nil end
    value[key] = whole
  end
  return value
end

-- Sends an event (2) or an acknowledgement (3) with its values.
local function send(socket, kind, id, values)
  local pieces
  if has_binary then
    pieces = {}
    for i = 1, #values do
      values[i] = extract(values[i], pieces)
    end
    if #pieces > 0 then kind = (kind + 3) .. #pieces .. "-" end
  end
  return transmit(socket.c, "4" .. kind .. socket.prefix .. (id or "") .. json.encode(values), pieces)
end

-- Returns values as a list without holes.
local function list(...)
  local values = { ... }
  for i = 1, select("#", ...) do
    if values[i] == nil then values[i] = null end
  end
  return json.array(values)
end

-- Returns the values of an event or an acknowledgement from that place on.
local function values_of(values, place)
  if #values < place then return true end
  return unpack(values, place)
end

-- Why a socket is not connected.
local function problem_of(socket) return rawget(socket, "failure") or connection.problem(socket.c) end

-- Calls functions for events, one after another.
local function call_handlers(socket)
  local calls = socket.calls
  local _ <close> = setmetatable({}, { __close = function() calls.runs = false end })
  for event in shift, calls do
    local fn = socket.handlers[event[1]]
    if not fn then
      -- It was removed meanwhile.
    elseif event.reply then
      event.reply(fn(unpack(event, 2)))
    else
      fn(unpack(event, 2))
    end
  end
end

local function call_later(socket, event)
  local c, calls = socket.c, socket.calls
  push(c, calls, event)
  if not calls.runs then
    calls.runs = true
    c.user:spawn(function() call_handlers(socket) end, { life = "user" })
  end
  -- A burst is read faster than functions are called.
  local tries = 0
  while calls.last - calls.first >= c.most do
    if tries == 1000 then return fail(c, ("too many events: %d ('max_events') wait for the function of '%s'"):format(c.most, event[1])) end
    tries = tries + 1
    c.user:wait(0.001)
  end
end

local function queue_of(socket, name)
  local queue = socket.queues[name]
  if not queue then
    queue = { first = 1, last = 0, dropped = 0 }
    socket.queues[name] = queue
    socket.names = socket.names + 1
  end
  return queue
end

-- Keeps an event until it is received. The oldest ones of a name that nobody receives are dropped.
local function keep(socket, event)
  local c, name = socket.c, event[1]
  if socket.names >= MOST_NAMES and not socket.queues[name] then return end
  local queue = queue_of(socket, name)
  if push(c, queue, event) > c.most then
    shift(queue)
    queue.dropped = queue.dropped + 1
  end
end

-- Disconnects a socket for a reason, which those who wait for it get.
local function leave(socket, reason)
  local c = socket.c
  socket.failure = socket.failure or reason
  c.sockets[socket.namespace_name] = nil
  for _, item in pairs(socket.replies) do
    wake(c, item)
  end
  for _, queue in pairs(socket.queues) do
    connection.wake_all(c, queue)
  end
  if socket.joining then wake(c, socket.joining) end
end

-- Tells a socket's function for "disconnect". Returns whether there is one.
local function tell(socket, reason)
  if not socket.handlers.disconnect then return false end
  call_later(socket, { "disconnect", reason })
  return true
end

-- Tells the sockets of a connection that it has ended. Returns whether one of them has a function for that.
local function on_end(c, reason)
  local is_told = false
  for _, socket in pairs(c.sockets) do
    is_told = tell(socket, reason) or is_told
  end
  return is_told
end

-- Passes an event or an acknowledgement on once all of it has come.
local function deliver(c, packet)
  local socket, values, id = packet.socket, packet.values, packet.id
  if packet.pieces then
    values = restore(values, packet.pieces)
    if not values then return fail(c, PROTOCOL .. "it has no binary data for a placeholder") end
  end
  if packet.is_reply then
    local item = socket.replies[id]
    if item then
      socket.replies[id] = nil
      item.values = values
      wake(c, item)
    end
    return
  end
  if id then
    values.reply = function(...)
      if not id or problem_of(socket) then return end
      send(socket, 3, id, list(...))
      id = nil
    end
  end
  if socket.handlers[values[1]] then
    call_later(socket, values)
  else
    keep(socket, values)
  end
end

local function read_json(text)
  local ok, value = pcall(json.decode, text)
  if ok then return value end
end

-- Reads a packet of Socket.IO, whose type and place in the text are given.
local function read_packet(c, text)
  local kind = byte(text, 2) or 0
  local place, count = 3, nil
  if kind == 53 or kind == 54 then -- BINARY_EVENT, BINARY_ACK
    count, place = match(text, "^(%d+)%-()", 3)
    count = tonumber(count)
    if not count or count > MOST_PIECES then return fail(c, PROTOCOL .. sub(text, 1, 40)) end
  end
  local name, after = match(text, "^(/[^,]*),?()", place)
  name, place = name and match(name, "^[^?]*") or "/", after or place
  local socket = c.sockets[name]
  -- One that has left its namespace.
  if not socket then return end
  if kind == 49 then -- DISCONNECT
    local reason = "io server disconnect"
    leave(socket, reason)
    if not tell(socket, reason) then c.user:record { kind = "SIO", name = "disconnect", time = 0, error = reason, tags = c.row.tags } end
    return
  end
  local id
  id, after = match(text, "^(%d+)()", place)
  local values = read_json(sub(text, after or place))
  if type(values) ~= "table" then return fail(c, PROTOCOL .. sub(text, 1, 40)) end
  if kind == 48 and socket.joining then -- CONNECT
    socket.id = values.sid
    return wake(c, socket.joining)
  elseif kind == 52 and socket.joining then -- CONNECT_ERROR
    socket.refusal = values
    local reason, data = values.message, values.data
    reason = "refused: " .. (type(reason) == "string" and reason or "the server gives no reason")
    return leave(socket, data ~= nil and data ~= null and reason .. " " .. json.encode(data) or reason)
  end
  local is_reply = kind == 51 or kind == 54
  local is_known = is_reply and id or (kind == 50 or kind == 53) and type(values[1]) == "string"
  if not is_known or byte(text, after or place) ~= 91 then return fail(c, PROTOCOL .. sub(text, 1, 40)) end
  local packet = { socket = socket, values = values, id = id, is_reply = is_reply }
  if not count or count == 0 then return deliver(c, packet) end
  packet.pieces, packet.count, packet.bytes = {}, count, 0
  c.partial = packet
end

local function on_message(c, message)
  local data, partial = message.data, c.partial
  if not message.is_text then
    if not partial then return fail(c, PROTOCOL .. "binary data without an event") end
    local pieces = partial.pieces
    pieces[#pieces + 1] = data
    partial.bytes = partial.bytes + #data
    if partial.bytes > c.most_bytes then return fail(c, "too large: the binary data of an event is larger than 'max_buffer'") end
    if #pieces == partial.count then
      c.partial = nil
      deliver(c, partial)
    end
    return
  end
  local kind = byte(data, 1)
  if kind == 50 then -- ping
    transmit(c, "3" .. sub(data, 2))
  elseif kind == 52 and not partial and not c.opening then
    read_packet(c, data)
  elseif kind == 48 and c.opening then
    local open = read_json(sub(data, 2))
    local interval = type(open) == "table" and tonumber(open.pingInterval)
    if not interval then return fail(c, PROTOCOL .. sub(data, 1, 40)) end
    c.patience = (interval + (tonumber(open.pingTimeout) or 0)) / 1000
    local opening = c.opening
    c.opening = nil
    wake(c, opening)
  elseif kind == 49 then
    fail(c, "closed early: the server has closed the connection")
  elseif kind ~= 54 then -- noop
    fail(c, PROTOCOL .. sub(data, 1, 40))
  end
end

-- Sockets ------------------------------------------------------------------------------------------------

local methods = {}

local socket_meta = {
  __name = "Socket.IO socket",
  __index = function(socket, name)
    if name == "error" then return problem_of(socket) end
    if name == "ok" then return problem_of(socket) == nil end
    return methods[name]
  end,
}

-- Makes the socket of a namespace, which is not connected yet.
local function new_socket(c, namespace, timeout)
  return setmetatable({
    c = c,
    namespace_name = namespace,
    prefix = namespace == "/" and "" or namespace .. ",",
    timeout = timeout,
    replies = {},
    next_id = 0,
    queues = {},
    names = 0,
    handlers = {},
    calls = { first = 1, last = 0 },
  }, socket_meta)
end

-- Connects a socket to its namespace.
local function join(socket, auth)
  local c = socket.c
  socket.joining = {}
  c.sockets[socket.namespace_name] = socket
  transmit(c, "40" .. socket.prefix .. (auth and json.encode(auth) or ""))
  local ok, problem = wait_for(c, socket.joining, socket.timeout)
  socket.joining = nil
  if not ok then leave(socket, problem) end
  return not socket.failure or nil, socket.failure
end

-- Returns an event with its arguments, without holes.
local function event_of(call, name, ...)
  if type(name) ~= "string" then error(("socket:%s takes the name of an event"):format(call), 3) end
  if RESERVED[name] then error(("socket:%s: '%s' is no name of an event that can be sent"):format(call, name), 3) end
  return list(name, ...)
end

function methods.emit(socket, name, ...)
  local values = event_of("emit", name, ...)
  local problem = problem_of(socket)
  if problem then return nil, problem end
  if send(socket, 2, nil, values) then return true end
  return nil, problem_of(socket) or "closed early: the connection is being closed"
end

function methods.request(socket, name, ...)
  local values, timeout = nil, socket.timeout
  local row = name
  if type(name) == "table" then
    values = event_of("request", unpack(name))
    for key, value in pairs(name) do
      if type(key) == "string" then connection.check("socket:request", { [key] = value }, REQUEST_OPTIONS, 2) end
    end
    row = name.name or name[1]
    timeout = connection.seconds("socket:request", name.timeout, 2) or timeout
  else
    values = event_of("request", name, ...)
  end
  local c, item = socket.c, {}
  local ok, problem = c.user:timed(row, function()
    local missing = problem_of(socket)
    if missing then return nil, missing end
    local id = tostring(socket.next_id)
    socket.next_id = socket.next_id + 1
    socket.replies[id] = item
    send(socket, 2, id, values)
    local done, why = wait_for(c, item, timeout)
    socket.replies[id] = nil
    if not done then return nil, why end
    return item.values and true, socket.failure
  end, c.row)
  if not ok then return nil, problem end
  return values_of(item.values, 1)
end

function methods.receive(socket, name, timeout)
  if type(name) ~= "string" then error("socket:receive takes the name of an event", 2) end
  timeout = connection.seconds("socket:receive", timeout, 2) or socket.timeout
  local c, queue = socket.c, queue_of(socket, name)
  if queue.dropped > 0 then
    local problem = "too many events: %d '%s' were dropped, since 'max_events' (%d) of them waited"
    problem = problem:format(queue.dropped, name, c.most)
    queue.dropped = 0
    return nil, problem
  end
  local event, problem = connection.take(c, queue, timeout, problem_of, socket)
  if not event then return nil, problem end
  event[#event + 1] = event.reply
  return values_of(event, 2)
end

function methods.on(socket, name, fn)
  if type(name) ~= "string" or fn ~= nil and type(fn) ~= "function" then error("socket:on takes the name of an event and a function", 2) end
  socket.handlers[name] = fn
  local queue = socket.queues[name]
  if not fn or not queue then return end
  for event in shift, queue do
    call_later(socket, event)
  end
end

function methods.namespace(socket, name, options)
  options = options or {}
  connection.check("socket:namespace", options, NAMESPACE_OPTIONS, 2)
  if type(name) ~= "string" or not match(name, "^/[^,?]*$") then error("socket:namespace takes a name that begins with '/'", 2) end
  local c = socket.c
  if c.sockets[name] then error("socket:namespace: '" .. name .. "' is connected already", 2) end
  local other = new_socket(c, name, connection.seconds("socket:namespace", options.timeout, 2) or socket.timeout)
  c.user:timed("connect " .. name, function() return join(other, options.auth) end, c.row)
  return other
end

function methods.disconnect(socket)
  local c = socket.c
  if problem_of(socket) then return end
  transmit(c, "41" .. socket.prefix)
  leave(socket, "io client disconnect")
  if next(c.sockets) then return end
  c.error = c.error or "io client disconnect"
  c.socket:close()
end

---Connects to a server.
---@param user lgoose.User
---@param options? lgoose.socketio.Options
---@return lgoose.socketio.Socket
function socketio.connect(user, options)
  options = options or {}
  if type(user) ~= "table" then error("socketio.connect takes the user: socketio.connect(user, { … })", 2) end
  connection.check("socketio.connect", options, OPTIONS, 2)
  local namespace = options.namespace or "/"
  if not match(namespace, "^/[^,?]*$") then error("socketio.connect: option 'namespace' begins with '/', as in \"/chat\"", 2) end
  local query = { EIO = 4, transport = "websocket" }
  for name, value in pairs(options.query or {}) do
    query[name] = value
  end
  local c = connection.open({
    user = user,
    row = { kind = "SIO", tags = options.tags },
    on_message = on_message,
    on_end = on_end,
    most = options.max_events or 1000,
    most_bytes = options.max_buffer or 1 << 20,
    sockets = {},
    opening = {},
  }, options.path or "/socket.io/", {
    name = options.name or "socket.io",
    query = query,
    headers = options.headers,
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
  })
  local socket = new_socket(c, namespace, connection.seconds("socketio.connect", options.timeout, 2))
  if c.error then return socket end
  local _, problem = user:timed("connect", function()
    local ok, missing = true, nil
    if c.opening then
      ok, missing = wait_for(c, c.opening, socket.timeout)
    end
    if not ok then return nil, missing end
    return join(socket, options.auth)
  end, c.row)
  if problem then
    fail(c, problem)
  else
    c.is_open = true
  end
  return socket
end

return socketio
