-- user:events, server-sent events over one connection after another. A part of the prelude.

local host, H, fail, User = ...

local next, setmetatable, type = next, setmetatable, type
local lower = host("string").lower

-- The wait before the next connection, in seconds, until the server sets it.
local PAUSE = 3

-- The options of each request, and its headers, to which the latest identity is added.
local function request_options(options)
  if options ~= nil and type(options) ~= "table" then fail("the options of user:events are a table: { reconnect = true }") end
  local own = {}
  for name, value in next, options or own do own[name] = value end
  local headers = { accept = "text/event-stream", ["cache-control"] = "no-cache" }
  if type(own.headers) == "table" then
    for name, value in next, own.headers do
      headers[type(name) == "string" and lower(name) or name] = value
    end
  elseif own.headers ~= nil then
    headers = own.headers
  end
  own.headers, own.stream, own.reconnect = headers, true, nil
  return own, headers
end

function User.events(self, path, options, more)
  if more ~= nil then fail(H.refused("body")) end
  local sent, headers = request_options(options)
  local reconnect = options and options.reconnect
  if reconnect ~= nil and type(reconnect) ~= "boolean" then fail("option 'reconnect' must be true or false") end

  local stream, events, id
  local pause = PAUSE
  local function connect()
    if id then headers["last-event-id"] = id ~= "" and id or nil end
    stream = self:get(path, sent)
    events = H.has_events(stream) and stream:events()
    if not events then stream:close() end
  end
  connect()

  local function take()
    while true do
      local event = events and events()
      if event then
        -- An identity outlives the connection that has brought it.
        if id and event.id == "" and not H.stream_place(stream) then event.id = id end
        return event
      end
      if not reconnect or (not events and stream.status ~= 0) then return nil end
      local latest, retry = H.stream_place(stream)
      id, pause = latest or id, retry or pause
      self:wait(pause)
      connect()
    end
  end
  return take, nil, nil, setmetatable({}, { __close = function() H.let_go(stream) end })
end
