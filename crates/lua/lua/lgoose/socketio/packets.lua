-- Packets and events. A part of `lgoose.socketio`, kept with the first connection.

local core = ...

local connection = core.keep "connection"
local fail, push, shift, wake = connection.fail, connection.push, connection.shift, connection.wake
local byte, match, sub = string.byte, string.match, string.sub
local pairs, pcall, select = pairs, pcall, select
local rawget, setmetatable, tonumber, type, unpack = rawget, setmetatable, tonumber, type, table.unpack
local null = json.null

local PROTOCOL = "protocol: this is no packet of Socket.IO 4: "

-- The most names of events that nobody has received which are kept, and pieces of binary data in an event.
local MOST_NAMES, MOST_PIECES = 1000, 1000

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

-- Sends an event (2) or an acknowledgement (3) with its values.
local function send(socket, kind, id, values)
  local pieces
  if core.has_binary then
    pieces = {}
    for i = 1, #values do
      values[i] = core.keep("binary").extract(values[i], pieces)
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
    values = core.keep("binary").restore(values, packet.pieces)
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

return {
  call_later = call_later,
  leave = leave,
  list = list,
  on_end = on_end,
  on_message = on_message,
  problem_of = problem_of,
  queue_of = queue_of,
  send = send,
  transmit = transmit,
  values_of = values_of,
}
