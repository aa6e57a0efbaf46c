-- Connecting: the options and the login. A part of `lgoose.redis`.

local core = ...

local redis = core.keep "commands"
local encode, timed = redis.encode, redis.timed
local error, find, pairs, setmetatable, tostring, type = error, string.find, pairs, setmetatable, tostring, type

-- The types of options that `user:tcp` does not check, or checks under another name.
local TYPES = { address = "string", name = "string", tls = "boolean", server_name = "string", user = "string", password = "string" }

local OPTIONS = {
  address = true,
  name = true,
  tls = true,
  server_name = true,
  user = true,
  password = true,
  db = true,
  protocol = true,
  timeout = true,
  max_buffer = true,
  tags = true,
}

-- Greets the server.
local function greet(db)
  local options = db.options
  local password, account = options.password, options.user
  if db.protocol == 3 then
    local texts = {}
    if password then
      encode(texts, "redis.connect", 3, 5, "HELLO", "3", "AUTH", account or "default", password)
    else
      encode(texts, "redis.connect", 3, 2, "HELLO", "3")
    end
    local info, problem = timed(db, "HELLO", texts)
    if info then
      db.server = type(info) == "table" and info or {}
      return true
    end
    -- Servers before 6 know no HELLO.
    local is_unknown = db.ok and problem and (find(problem, "^ERR unknown command") or find(problem, "^NOPROTO"))
    if not is_unknown or options.protocol == 3 then return nil, problem end
    db.protocol = 2
  end
  if password then
    local texts = {}
    if account then
      encode(texts, "redis.connect", 3, 3, "AUTH", account, password)
    else
      encode(texts, "redis.connect", 3, 2, "AUTH", password)
    end
    return timed(db, "AUTH", texts)
  end
  return true
end

return function(user, options)
  options = options or {}
  if type(user) ~= "table" then error("redis.connect takes the user: redis.connect(user, { … })", 2) end
  if type(options) ~= "table" then error("redis.connect: the options are a table", 2) end
  for name in pairs(options) do
    if not OPTIONS[name] then
      error(
        "redis.connect: unknown option '"
          .. tostring(name)
          .. "'; options: address, db, max_buffer, name, password, protocol, server_name, tags, timeout, tls, user",
        2
      )
    end
  end
  for name, expected in pairs(TYPES) do
    local value = options[name]
    if value ~= nil and type(value) ~= expected then
      error(("redis.connect: option '%s' must be a %s, not %s"):format(name, expected, type(value)), 2)
    end
  end
  for name, least in pairs { db = 0, max_buffer = 1 } do
    local value = options[name]
    if value ~= nil and (math.type(value) ~= "integer" or value < least) then
      error(("redis.connect: option '%s' is a whole number, at least %d, not %s"):format(name, least, tostring(value)), 2)
    end
  end
  local protocol = options.protocol or 3
  if protocol ~= 2 and protocol ~= 3 then error("redis.connect: option 'protocol' is 2 or 3", 2) end
  local socket = user:tcp(options.address, {
    name = options.name or "redis",
    tls = options.tls,
    server_name = options.server_name,
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
  })
  local db = setmetatable({
    socket = socket,
    options = options,
    ok = socket.ok,
    error = socket.error,
    protocol = protocol,
    server = {},
    pushes = {},
    is_in_use = false,
    most = options.max_buffer or 1 << 20,
    plan_user = user,
    row = { kind = "REDIS", tags = options.tags },
  }, redis.meta)
  if not db.ok then return db end
  local ok, problem = greet(db)
  if ok and options.db and options.db ~= 0 then
    ok, problem = db:call("SELECT", options.db)
  end
  if not ok then redis.broken(db, problem) end
  return db
end
