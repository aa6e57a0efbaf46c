-- The methods of a WebSocket: sending, waiting for messages, and closing. A part of the prelude.

local yield, operations, host, message_meta, json = ...
local error, next, setmetatable, tostring, type = error, next, setmetatable, tostring, type
local RECEIVE, END_STREAM, FLUSH = operations.receive, operations.end_stream, operations.flush
local BEGIN_EXCHANGE, END_EXCHANGE = operations.begin_exchange, operations.end_exchange
local SPAWN, WAIT = operations.spawn, operations.wait
local take, clock = host.take, host.clock

local function fail(message) error(host.here() .. message, 0) end

-- Sockets that are being opened again.
local reopening = setmetatable({}, { __mode = "k" })

-- Opens a socket with `reconnect` again once it has ended, and tries until that succeeds or the deadline passes. Returns false if it
-- stays closed.
local function reopen(socket, deadline)
  local open, pause = host.reopening(socket)
  if not open then return false end
  if reopening[socket] then
    repeat yield(WAIT, 0.01) until not reopening[socket]
    return true
  end
  reopening[socket] = true
  local _ <close> = setmetatable({}, { __close = function() reopening[socket] = nil end })
  while not (deadline and clock() >= deadline) do
    yield(WAIT, pause)
    if not host.reopening(socket) then return false end
    local opened = open()
    if opened.status == 101 then
      host.exchange(socket, opened)
      return true
    end
  end
  return true
end

local function sent(socket, is_text, data)
  local ok, has_room = host.send(socket, is_text, data)
  if not ok and host.reopening(socket) then
    yield(END_STREAM, socket)
    if reopen(socket) then return sent(socket, is_text, data) end
  end
  if not has_room then yield(FLUSH, socket) end
  return ok
end

local RECEIVE_OPTIONS = { timeout = true, match = true, deadline = true }

local function read_options(options, call, more)
  if options == nil then return end
  if type(options) ~= "table" then fail("the options of " .. call .. " are a table: { timeout = 5 }") end
  for name in next, options do
    if not RECEIVE_OPTIONS[name] and name ~= more then
      local all = "timeout, match, deadline" .. (more and ", " .. more or "")
      fail("unknown option '" .. tostring(name) .. "' of " .. call .. "; options: " .. all)
    end
  end
  local match = options.match
  if match ~= nil and type(match) ~= "function" then fail("option 'match' of " .. call .. " must be a function of a message") end
  local deadline = options.deadline
  return match, options.timeout, deadline ~= nil and clock() + host.nanoseconds(deadline, "option 'deadline' of " .. call) or nil
end

-- The handlers of sockets for messages that nobody waits for, and the number of waiting calls.
local handlers, waiting = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

-- Waits for a message that matches; nil at the end of the socket, or when the time is up, and then whether it is. The deadline is on
-- the clock.
local function receive_next(socket, match, timeout, deadline)
  local start = clock()
  while true do
    local rest = deadline and (deadline - clock()) / 1e9
    if rest and rest <= 0 then return nil, true end
    local message, more = take(socket)
    if message then
      setmetatable(message, message_meta)
      if not match or match(message) then return message end
      local handler = handlers[socket]
      if handler then handler(message) end
    elseif not more then
      yield(END_STREAM, socket)
      if not reopen(socket, deadline) then return nil, false end
    elseif yield(RECEIVE, socket, timeout or false, (clock() - start) / 1e9, rest) then
      return nil, true
    end
  end
end

local function no_longer(socket)
  return setmetatable({}, { __close = function() waiting[socket] = waiting[socket] - 1 end })
end

local function receive(socket, match, timeout, deadline)
  if not handlers[socket] then return receive_next(socket, match, timeout, deadline) end
  waiting[socket] = waiting[socket] + 1
  local _ <close> = no_longer(socket)
  return receive_next(socket, match, timeout, deadline)
end

-- Passes a socket's messages to its handler, one after another, as long as nobody else waits for one.
local function handle(socket)
  while true do
    if waiting[socket] == 0 then
      local message, more = take(socket)
      if message then
        handlers[socket](setmetatable(message, message_meta))
      elseif more then
        yield(RECEIVE, socket)
      else
        yield(END_STREAM, socket)
        if not reopen(socket) then return end
      end
    elseif host.has_more(socket) then
      -- A waiting call takes it first.
      yield(WAIT, 0.001)
    else
      yield(RECEIVE, socket)
    end
  end
end

-- Returns the text to send: a table becomes JSON.
local function text_of(data, call)
  if type(data) == "table" then data = json.encode(data) end
  if type(data) ~= "string" then fail(call .. " takes a text, or a table that is sent as JSON") end
  return data
end

return {
  send = function(socket, data) return sent(socket, true, text_of(data, "socket:send")) end,
  send_binary = function(socket, data)
    if type(data) ~= "string" then fail("socket:send_binary takes a string") end
    return sent(socket, false, data)
  end,
  receive = function(socket, options)
    local message = receive(socket, read_options(options, "socket:receive"))
    return message
  end,
  ask = function(socket, data, options)
    local match, timeout, deadline = read_options(options, "socket:ask", "name")
    local question = text_of(data, "socket:ask")
    local number, problem = yield(BEGIN_EXCHANGE, socket, options and options.name)
    if problem then fail(problem) end
    local since = host.age(socket)
    sent(socket, true, question)
    -- A message from before the request is not its reply.
    local function answers(message) return message.at >= since and (not match or match(message)) end
    local message, is_late = receive(socket, answers, timeout, deadline)
    yield(END_EXCHANGE, socket, number, message and message.at or is_late)
    return message
  end,
  ping = function(socket, options)
    local match, timeout, deadline = read_options(options, "socket:ping", "name")
    if match then fail("socket:ping has no option 'match': its pong is no message") end
    local number, problem = yield(BEGIN_EXCHANGE, socket, options and options.name or "ping")
    if problem then fail(problem) end
    local start, at, is_late = clock(), nil, nil
    if not host.ping(socket) then is_late = false end
    while is_late == nil do
      at = host.pong(socket)
      if at then break end
      local rest = deadline and (deadline - clock()) / 1e9
      if rest and rest <= 0 then
        is_late = true
      elseif not host.is_open(socket) then
        is_late = false
      elseif yield(RECEIVE, socket, timeout or false, (clock() - start) / 1e9, rest) then
        is_late = true
      end
    end
    host.pong(socket, true)
    yield(END_EXCHANGE, socket, number, at or is_late)
    return at and (clock() - start) / 1e9 or nil
  end,
  messages = function(socket, options)
    local match, timeout, deadline = read_options(options, "socket:messages")
    return function()
      local message = receive(socket, match, timeout, deadline)
      return message
    end
  end,
  on_message = function(socket, handler)
    if type(handler) ~= "function" then fail("socket:on_message takes a function of a message") end
    local is_first = not handlers[socket]
    handlers[socket] = handler
    if not is_first then return end
    waiting[socket] = 0
    local _, problem = yield(SPAWN, function() handle(socket) end, true)
    if problem then fail(problem) end
  end,
  close = function(socket, code, reason)
    host.close(socket, code, reason)
    yield(END_STREAM, socket)
  end,
}
