-- Connecting: the options, TLS and the login. A part of `lgoose.postgres`.

local core = ...

-- The types of options that `user:tcp` does not check, or checks under another name.
local TYPES = {
  address = "string",
  name = "string",
  database = "string",
  user = "string",
  password = "string",
  server_name = "string",
  application_name = "string",
  parameters = "table",
}

local OPTIONS = "address, application_name, database, max_buffer, name, parameters, password, server_name, statements, tags, timeout, tls, user"

local find, format, sub = string.find, string.format, string.sub
local pack, unpack = string.pack, string.unpack
local concat, kind_of = table.concat, math.type
local error, pairs, setmetatable, tostring, type = error, pairs, setmetatable, tostring, type
local load = core.load
local messages = core.keep "messages"
local broken, next_reply, BROKEN = messages.broken, messages.next_reply, messages.BROKEN

-- Reads the next message about the login. Returns the number of the method and its data.
local function read_login(db)
  while true do
    local kind, text, at, last = next_reply(db)
    if not kind then return nil, text end
    if kind == "E" then
      local _, problem = core.keep "errors"(db, text, at, last)
      return broken(db, problem)
    elseif kind == "R" and last - at > 2 then
      return unpack(">I4", text, at), sub(text, at + 4, last)
    elseif kind ~= "A" and kind ~= "v" then
      return broken(db, BROKEN)
    end
  end
end

local function start_tls(db)
  local options, socket = db.options, db.socket
  local ok, problem = socket:send "\0\0\0\8\4\210\22\47"
  if not ok then return broken(db, problem) end
  local reply
  reply, problem = messages.receive(db, 1)
  if not reply then return broken(db, problem) end
  if reply == "S" then
    ok, problem = socket:start_tls { server_name = options.server_name, timeout = options.timeout }
    return ok or broken(db, problem)
  end
  if reply ~= "N" then return broken(db, BROKEN) end
  if options.tls == "prefer" then return true end
  return broken(db, "tls: the server does not support TLS")
end

-- Starts TLS and the session.
local function login(db)
  local options = db.options
  if options.tls then
    local ok, problem = start_tls(db)
    if not ok then return nil, problem end
  end
  local texts = { "user", db.account, "client_encoding", "UTF8", "application_name", options.application_name or "lgoose" }
  if options.database then
    texts[7], texts[8] = "database", options.database
  end
  for name, value in pairs(options.parameters or {}) do
    texts[#texts + 1] = name
    texts[#texts + 1] = tostring(value)
  end
  local text = "\0\3\0\0" .. concat(texts, "\0") .. "\0\0"
  local ok, problem = db.socket:send(pack(">I4", #text + 4) .. text)
  if not ok then return broken(db, problem) end
  ok, problem = load "authentication"(db, read_login)
  if not ok then return nil, problem end
  while true do
    local kind, reply, at, last = next_reply(db)
    if not kind then return nil, reply end
    if kind == "Z" then
      return true
    elseif kind == "E" then
      local _, refusal = core.keep "errors"(db, reply, at, last)
      return broken(db, refusal)
    elseif kind == "K" and last - at > 2 then
      db.process = unpack(">I4", reply, at)
    elseif kind ~= "A" and kind ~= "v" then
      return broken(db, BROKEN)
    end
  end
end

-- Checks the options of a connection. Returns its timeout in seconds.
local function check(options)
  load "check"("postgres.connect", options, OPTIONS, 3)
  for name, value in pairs(options) do
    local expected, kind = TYPES[name], type(value)
    if expected and kind ~= expected then error(format("postgres.connect: option '%s' must be a %s, not %s", name, expected, kind), 3) end
    if kind == "string" and find(value, "\0", 1, true) then error("postgres.connect: option '" .. name .. "' has a zero byte", 3) end
  end
  for name, value in pairs(options.parameters or {}) do
    if type(name) ~= "string" or (type(value) ~= "string" and type(value) ~= "number") or find(name .. value, "\0", 1, true) then
      error("postgres.connect: option 'parameters' has names and values of settings: { search_path = \"shop\" }", 3)
    end
  end
  for name, least in pairs { statements = 0, max_buffer = 1024 } do
    local value = options[name]
    if value ~= nil and (kind_of(value) ~= "integer" or value < least) then
      error(format("postgres.connect: option '%s' is a whole number, at least %d, not %s", name, least, tostring(value)), 3)
    end
  end
  local tls = options.tls
  if tls ~= nil and type(tls) ~= "boolean" and tls ~= "prefer" then error("postgres.connect: option 'tls' is true, false or 'prefer'", 3) end
  return options.timeout ~= nil and core.seconds("postgres.connect", options.timeout, 3) or nil
end

return function(user, options)
  options = options or {}
  if type(user) ~= "table" then error("postgres.connect takes the user: postgres.connect(user, { … })", 2) end
  local timeout = check(options)
  local socket = user:tcp(options.address, {
    name = options.name or "postgres",
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
  })
  local db = setmetatable({
    socket = socket,
    options = options,
    account = options.user or "postgres",
    ok = socket.ok,
    error = socket.error,
    status = "idle",
    server = {},
    notifications = {},
    -- The statements by their text, and their texts by their number, of which the latest was given to `prepared`.
    statements = {},
    prepared = 0,
    -- What has arrived, and the place of the next message in it.
    received = "",
    at = 1,
    is_in_use = false,
    most = options.max_buffer or 1 << 20,
    timeout = timeout,
    plan_user = user,
    row = { kind = "SQL", tags = options.tags },
  }, core.meta)
  if db.ok then messages.timed(db, "connect", nil, function() return login(db) end) end
  return db
end
