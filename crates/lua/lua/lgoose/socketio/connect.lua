-- Connecting. A part of `lgoose.socketio`.

local core = ...

local connection, packets = core.keep "connection", core.keep "packets"

local OPTIONS = {
  path = "string",
  namespace = "string",
  auth = "table",
  query = "table",
  headers = "table",
  name = "string",
  timeout = "duration",
  max_buffer = "count",
  max_events = "count",
  tags = "table",
}

return function(user, options)
  options = options or {}
  if type(user) ~= "table" then error("socketio.connect takes the user: socketio.connect(user, { … })", 2) end
  core.load "check"("socketio.connect", options, OPTIONS, 2)
  local namespace = options.namespace or "/"
  if not string.match(namespace, "^/[^,?]*$") then error("socketio.connect: option 'namespace' begins with '/', as in \"/chat\"", 2) end
  local query = { EIO = 4, transport = "websocket" }
  for name, value in pairs(options.query or {}) do
    query[name] = value
  end
  local c = core.load "open"({
    user = user,
    row = { kind = "SIO", tags = options.tags },
    on_message = packets.on_message,
    on_end = packets.on_end,
    most = options.max_events or 1000,
    most_bytes = options.max_buffer or 1 << 20,
    sockets = {},
    opening = {},
  }, options.path or "/socket.io/", {
    name = options.name or "socket.io",
    query = query,
    headers = options.headers,
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
  })
  local socket = core.keep "socket"(c, namespace, core.seconds("socketio.connect", options.timeout, 2))
  if c.error then return socket end
  local _, problem = user:timed("connect", function()
    local ok, missing = true, nil
    if c.opening then
      ok, missing = connection.wait(c, c.opening, socket.timeout)
    end
    if not ok then return nil, missing end
    return core.load("namespaces").join(socket, options.auth)
  end, c.row)
  if problem then
    connection.fail(c, problem)
  else
    c.is_open = true
  end
  return socket
end
