-- user:websocket, which opens a WebSocket. A part of the prelude.

local host, H, fail, User, receive = ...

local next, rawget, tostring, type = next, rawget, tostring, type
local yield = yield
local WEBSOCKET, END_STREAM = host("op:websocket"), host("op:end_stream")

-- Returns how long to wait before a socket is opened again; nil if it is not to be.
local function pause_of(options)
  local reconnect
  if type(options) == "table" then reconnect = rawget(options, "reconnect") end
  if reconnect == nil or reconnect == false then return end
  if reconnect == true then return 1 end
  if type(reconnect) ~= "table" then fail("option 'reconnect' must be true, false or a table: { wait = 1 }") end
  for name in next, reconnect do
    if name ~= "wait" then fail("unknown option '" .. tostring(name) .. "' of reconnect; options: wait") end
  end
  return reconnect.wait or 1
end

function User.websocket(_, path, options, more)
  if more ~= nil then fail(H.refused("body")) end
  local pause = pause_of(options)
  local function open()
    local socket = receive(yield(WEBSOCKET, path, options))
    -- One that was not opened has ended.
    if socket.status ~= 101 and socket.status ~= 0 then yield(END_STREAM, socket) end
    return socket
  end
  local socket = open()
  if pause then H.set_reopening(socket, open, pause) end
  return socket
end
