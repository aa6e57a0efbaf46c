-- Sockets and their events. A part of `lgoose.socketio`, kept with the first connection.

local core = ...

local connection, packets = core.keep "connection", core.keep "packets"
local wait_for, shift = connection.wait, connection.shift
local call_later, list, problem_of, queue_of, send, values_of =
  packets.call_later, packets.list, packets.problem_of, packets.queue_of, packets.send, packets.values_of
local error, pairs, setmetatable, tostring, type, unpack = error, pairs, setmetatable, tostring, type, table.unpack

local REQUEST_OPTIONS = { name = "string", timeout = "duration" }

-- Names that are not those of events.
local RESERVED = { connect = true, connect_error = true, disconnect = true, disconnecting = true }

local PROTOCOL = "protocol: this is no packet of Socket.IO 4: "

local methods = {}

local socket_meta = {
  __name = "Socket.IO socket",
  __index = function(socket, name)
    if name == "error" then return problem_of(socket) end
    if name == "ok" then return problem_of(socket) == nil end
    if name == "namespace" or name == "disconnect" then return core.load "namespaces"[name] end
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
      local is_known = type(key) ~= "string" or key == "timeout" or key == "name" and type(value) == "string"
      if not is_known then core.load "check"("socket:request", { [key] = value }, REQUEST_OPTIONS, 2) end
    end
    row = name.name or name[1]
    timeout = core.seconds("socket:request", name.timeout, 2) or timeout
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
  timeout = core.seconds("socket:receive", timeout, 2) or socket.timeout
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

return new_socket
