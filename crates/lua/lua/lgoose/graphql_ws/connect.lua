-- Connecting. A part of `lgoose.graphql_ws`.

local core = ...

local connection, client = core.keep "connection", core.keep "client"

local SUBPROTOCOL = "graphql-transport-ws"

local OPTIONS = {
  path = "string",
  payload = "table",
  query = "table",
  headers = "table",
  name = "string",
  timeout = "duration",
  max_buffer = "count",
  max_messages = "count",
  tags = "table",
}

return function(user, options)
  options = options or {}
  if type(user) ~= "table" then error("graphql_ws.connect takes the user: graphql_ws.connect(user, { … })", 2) end
  core.load "check"("graphql_ws.connect", options, OPTIONS, 2)
  local c = {
    user = user,
    row = { kind = "GQL", tags = options.tags },
    on_message = client.on_message,
    reason_of_end = function(socket) return core.load "reasons"(socket) end,
    timeout = core.seconds("graphql_ws.connect", options.timeout, 2),
    most = options.max_messages or 1000,
    operations = {},
    latest = 0,
    joining = {},
  }
  core.load "open"(c, options.path or "/graphql", {
    name = options.name or "graphql",
    query = options.query,
    headers = options.headers,
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
    subprotocols = { SUBPROTOCOL },
  })
  local connected = setmetatable({ c = c }, client.meta)
  if c.error then return connected end
  local _, problem = user:timed("connect", function()
    if c.socket.subprotocol ~= SUBPROTOCOL then return nil, "protocol: the server does not take the subprotocol " .. SUBPROTOCOL end
    client.send(c, "connection_init", nil, options.payload)
    return connection.wait(c, c.joining, c.timeout)
  end, c.row)
  c.joining = nil
  if problem then
    connection.fail(c, problem)
  else
    c.is_open = true
  end
  return connected
end
