-- Opening the WebSocket of a connection. A part of `lgoose.socketio` and `lgoose.graphql_ws`.

local core = ...

local read = core.keep("connection").read

-- Opens the WebSocket of a connection: a table with the `user`, the `row` of its requests (kind and tags) and `on_message(c, message)`. It has
-- an `error` if that fails.
return function(c, path, options)
  local socket = c.user:websocket(path, options)
  c.socket, c.heard, c.sleepers = socket, os.clock(), {}
  if socket.status == 101 and socket.ok then
    socket:on_message(function(message) read(c, message) end)
  else
    c.error = socket.error or "closed early: the server has closed the connection"
  end
  return c
end
