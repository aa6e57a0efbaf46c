-- The end of a connection that was not meant to end. A part of `lgoose.socketio` and `lgoose.graphql_ws`.

local core = ...

local connection = core.keep "connection"
local has_ended, wake = connection.has_ended, connection.wake

-- Ends the connection for a reason, which those who wait for something get.
return function(c, reason)
  c.error = reason
  local item = next(c.sleepers)
  while item do
    wake(c, item)
    item = next(c.sleepers)
  end
  local socket = c.socket
  local is_counted = not socket.ok
  if not has_ended(socket) then
    -- The close may take a while.
    c.user:spawn(function() socket:close() end, { life = "user" })
  end
  if c.on_end then is_counted = c:on_end(reason) or is_counted end
  -- What has made the WebSocket itself fail is counted in its row.
  if c.is_open and not is_counted then
    c.user:record { kind = c.row.kind, name = "disconnect", time = 0, error = reason, tags = c.row.tags }
  end
end
