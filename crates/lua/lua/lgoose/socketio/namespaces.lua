-- Connecting to namespaces, and leaving them. A part of `lgoose.socketio`.

local core = ...

local connection, packets = core.keep "connection", core.keep "packets"
local error, match, next, type = error, string.match, next, type

local NAMESPACE_OPTIONS = { auth = "table", timeout = "duration" }

local namespaces = {}

-- Connects a socket to its namespace.
function namespaces.join(socket, auth)
  local c = socket.c
  socket.joining = {}
  c.sockets[socket.namespace_name] = socket
  packets.transmit(c, "40" .. socket.prefix .. (auth and json.encode(auth) or ""))
  local ok, problem = connection.wait(c, socket.joining, socket.timeout)
  socket.joining = nil
  if not ok then packets.leave(socket, problem) end
  return not socket.failure or nil, socket.failure
end

function namespaces.namespace(socket, name, options)
  options = options or {}
  core.load "check"("socket:namespace", options, NAMESPACE_OPTIONS, 2)
  if type(name) ~= "string" or not match(name, "^/[^,?]*$") then error("socket:namespace takes a name that begins with '/'", 2) end
  local c = socket.c
  if c.sockets[name] then error("socket:namespace: '" .. name .. "' is connected already", 2) end
  local other = core.keep "socket"(c, name, core.seconds("socket:namespace", options.timeout, 2) or socket.timeout)
  c.user:timed("connect " .. name, function() return namespaces.join(other, options.auth) end, c.row)
  return other
end

function namespaces.disconnect(socket)
  local c = socket.c
  if packets.problem_of(socket) then return end
  packets.transmit(c, "41" .. socket.prefix)
  packets.leave(socket, "io client disconnect")
  if next(c.sockets) then return end
  c.error = c.error or "io client disconnect"
  c.socket:close()
end

return namespaces
