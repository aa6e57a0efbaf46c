-- user:websocket, which opens a WebSocket. A part of the prelude.

local host, H, fail, User, receive = ...

local yield = yield
local WEBSOCKET, END_STREAM = host("op:websocket"), host("op:end_stream")

function User.websocket(_, path, options, more)
  if more ~= nil then fail(H.refused("body")) end
  local socket = receive(yield(WEBSOCKET, path, options))
  -- One that was not opened has ended.
  if socket.status ~= 101 and socket.status ~= 0 then yield(END_STREAM, socket) end
  return socket
end
