-- What connects to a mail server: the greeting, TLS and the login. A part of `lgoose.smtp`.

local core = ...

local exchange = core.keep "exchange"
local broken, command, expect, timed = exchange.broken, exchange.command, exchange.expect, exchange.timed

local OPTIONS = "address, hello, name, password, server_name, starttls, tags, timeout, tls, user"

-- Greets the server, and reads its extensions.
local function hello(server)
  local lines, problem = command(server, "EHLO " .. server.hello, 2)
  server.extensions = {}
  if not lines then
    if not server.ok then return nil, problem end
    -- Old servers know no EHLO.
    lines, problem = command(server, "HELO " .. server.hello, 2)
    return lines and true, problem
  end
  for n = 2, #lines do
    local name, parameters = lines[n]:match "^(%S+)%s*(.*)$"
    if name then server.extensions[name:upper()] = parameters end
  end
  return true
end

local function authenticate(server)
  local name, password = server.options.user, server.options.password or ""
  local kinds = " " .. (server.extensions.AUTH or ""):upper() .. " "
  if kinds:find(" PLAIN ", 1, true) then
    local lines, problem = command(server, "AUTH PLAIN " .. base64.encode("\0" .. name .. "\0" .. password), 2)
    return lines and true, problem
  elseif kinds:find(" LOGIN ", 1, true) then
    for _, step in ipairs {
      { "AUTH LOGIN", 3 },
      { base64.encode(name), 3 },
      { base64.encode(password), 2 },
    } do
      local lines, problem = command(server, step[1], step[2])
      if not lines then return nil, problem end
    end
    return true
  end
  return nil, "the server offers neither AUTH PLAIN nor AUTH LOGIN"
end

return function(user, options)
  options = options or {}
  if type(user) ~= "table" then error("smtp.connect takes the user: smtp.connect(user, { … })", 3) end
  exchange.refuse_unknown("smtp.connect", "option", options, OPTIONS, 4)
  if options.tls and options.starttls then error("smtp.connect: either 'tls' or 'starttls'", 3) end
  local socket = user:tcp(options.address, {
    name = options.name or "smtp",
    tls = options.tls,
    -- Only TLS has one.
    server_name = options.tls and options.server_name or nil,
    timeout = options.timeout,
    tags = options.tags,
  })
  local server = setmetatable({
    socket = socket,
    options = options,
    ok = socket.ok,
    error = socket.error,
    hello = exchange.line_of("smtp.connect", "option 'hello'", options.hello or "localhost", 4),
    extensions = {},
    count = 0,
    is_in_use = false,
    plan_user = user,
    row = { kind = "SMTP", tags = options.tags },
  }, core.meta)
  if not server.ok then return server end
  local ok, problem = timed(server, "hello", function()
    local lines, refusal = expect(server, 2)
    if not lines then return nil, refusal end
    return hello(server)
  end)
  if ok and options.starttls then
    ok, problem = timed(server, "starttls", function()
      local lines, refusal = command(server, "STARTTLS", 2)
      if not lines then return nil, refusal end
      local secured, failed = socket:start_tls { server_name = options.server_name, timeout = options.timeout }
      if not secured then return broken(server, failed) end
      -- The first greeting is void (RFC 3207, section 4.2).
      return hello(server)
    end)
  end
  if ok and options.user then
    ok, problem = timed(server, "auth", function() return authenticate(server) end)
  end
  if not ok and server.ok then broken(server, problem) end
  return server
end
