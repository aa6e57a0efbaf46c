-- The methods of a plain socket: sending, receiving, and closing. A part of the prelude.

local yield, operations, host = ...
local error = error
local SEND, RECEIVE = operations.socket_send, operations.socket_receive
local START_TLS, CLOSE = operations.start_tls, operations.socket_close
local take = host.take

-- Returns the value of an operation, or nil and the reason of its failure.
local function outcome(ok, value)
  if ok then return value end
  if ok == nil then error(host.here() .. value, 0) end
  return nil, value
end

local function done(ok, value)
  local _, reason = outcome(ok, value)
  if ok then return true end
  return nil, reason
end

return {
  send = function(socket, data, options) return done(yield(SEND, socket, data, options)) end,
  receive = function(socket, what, options)
    -- Bytes received before need no wait.
    local is_there, value = take(socket, what, options)
    if is_there then return value end
    return outcome(yield(RECEIVE, socket, what, options))
  end,
  start_tls = function(socket, options) return done(yield(START_TLS, socket, options)) end,
  close = function(socket) yield(CLOSE, socket) end,
}
