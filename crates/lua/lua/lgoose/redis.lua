---Redis, Valkey and other servers that speak their protocol (RESP): commands, pipelines, published messages.
---
---    local redis = require "lgoose.redis"
---    local db = redis.connect(user, { address = "127.0.0.1:6379" })
---    db:set("key", "value")
---    local value = db:get "key"
---    db:call("EXPIRE", "key", 60)
---
---Each command is a request, in the row `REDIS GET`; the connection is the row `TCP redis`. Replies become Lua values:
---
---| | |
---|---|---|
---| simple, bulk and verbatim strings | a string |
---| integer | an integer |
---| double | a number |
---| big number | a string of digits |
---| boolean | true or false |
---| null | nil; within a list or a map `json.null` |
---| array, set | a list |
---| map | a table by key |
---| error | nil and its text: the request has failed; within a list or a map { error = text } |
---
---It uses RESP3 where the server supports it (`HELLO 3`), else RESP2, in which maps and sets arrive as lists, doubles as strings and
---booleans as integers.
---@class lgoose.redis
local redis = {}

---@class lgoose.redis.Options
---@field address? string # host:port (default: the host of the user, and its port)
---@field name? string # the row of the connection (default: "redis")
---@field tls? boolean # (default: false)
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)
---@field user? string # for AUTH (default: the server's default user)
---@field password? string # for AUTH
---@field db? integer # the number of the database (default: 0)
---@field protocol? 2|3 # (default: 3, or 2 where the server does not support it)
---@field timeout? lgoose.Duration # for each reply (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a string in a reply (default: 1 MiB)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection.
---@class lgoose.redis.Connection
---@field ok boolean # whether it is open, and the server has accepted the login
---@field error? string # why it is not ok
---@field protocol integer # 3, or 2
---@field server table<string, any> # the server's description of itself; empty with protocol 2
---@field call fun(self: lgoose.redis.Connection, command: string, ...: string|number): any, string? # sends a command, and returns its reply, or nil and the reason for the failure
---@field pipeline fun(self: lgoose.redis.Connection, commands: (string|number)[][], options?: lgoose.redis.PipelineOptions): any[]?, string? # sends all commands at once, and returns a list of their replies: one request, which fails if any of them does
---@field pushed fun(self: lgoose.redis.Connection, timeout?: lgoose.Duration): any[]?, string? # waits for a published message: { "message", channel, text }
---@field close fun(self: lgoose.redis.Connection)
---@field [string] fun(self: lgoose.redis.Connection, ...: string|number): any, string? # any other command is a method by its name in lower case: db:hset("key", "field", 1)

---@class lgoose.redis.PipelineOptions
---@field name? string # the row `REDIS name` (default: "pipeline")

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

local byte, find, sub = string.byte, string.find, string.sub
local concat, remove, tointeger, kind_of = table.concat, table.remove, math.tointeger, math.type
local error, getmetatable, select, tonumber = error, getmetatable, select, tonumber
local rawget, setmetatable, tostring, type = rawget, setmetatable, tostring, type

-- As deep as replies are nested at most.
local DEEPEST = 32

-- The value for a null in a list or a map, where nil would be nothing.
local null = json.null

-- The metatable of an error among the replies of one exchange.
local error_meta = { __name = "redis error" }

local function is_error(value) return type(value) == "table" and getmetatable(value) == error_meta end

-- Appends a command to a list of texts.
local function encode(texts, owner, level, count, ...)
  local n = #texts
  texts[n + 1] = "*" .. count .. "\r\n"
  for i = 1, count do
    local argument = (select(i, ...))
    if kind_of(argument) == "float" then
      argument = ("%.17g"):format(argument)
    elseif type(argument) ~= "string" then
      if kind_of(argument) ~= "integer" then
        error(("%s: argument %d must be a string or a number, not %s"):format(owner, i, type(argument)), level + 1)
      end
      argument = tostring(argument)
    end
    texts[n + 1 + i] = "$" .. #argument .. "\r\n" .. argument .. "\r\n"
  end
end

-- Replies ------------------------------------------------------------------------------------------------

local NUMBERS = { inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0, ["-nan"] = 0 / 0 }

local BROKEN = "protocol: this is no reply of Redis"

-- Stands in place of a reason where a push came instead of a reply.
local PUSHED = {}

local read

-- Reads so many values into a list. Returns nil and a reason if they do not come.
local function read_list(db, count, depth)
  local list = {}
  for i = 1, count do
    local value, problem = read(db, depth)
    if problem then return nil, problem end
    if value == nil then value = null end
    list[i] = value
  end
  return list
end

local function read_map(db, count, depth)
  local map = {}
  for _ = 1, count do
    local key, problem = read(db, depth)
    if problem then return nil, problem end
    local value, more = read(db, depth)
    if more then return nil, more end
    if value == nil then value = null end
    -- A value that cannot be a key is left out.
    if key == nil or key ~= key then key = null end
    map[key] = value
  end
  return map
end

local function receive(db, what)
  local socket, timeout = db.socket, db.options.timeout
  if timeout then return socket:receive(what, { timeout = timeout }) end
  return socket:receive(what)
end

-- Reads a value. Returns it, or nil and the reason why none comes. A null is nil alone.
function read(db, depth)
  if depth > DEEPEST then return nil, "protocol: a reply is nested too deep" end
  local line, problem = receive(db, "line")
  if not line then return nil, problem end
  local first, rest = byte(line), sub(line, 2)
  if first == 36 or first == 61 or first == 33 then -- $ = !
    local length = tointeger(tonumber(rest))
    if length == -1 then return nil end
    if not length or length < 0 then return nil, BROKEN end
    if length + 2 > db.most then return nil, "too large: a string of a reply is larger than 'max_buffer'" end
    local text, missing = receive(db, length + 2)
    if not text then return nil, missing end
    text = sub(text, 1, length)
    if first == 36 then return text end
    -- The format of a verbatim string stands before it.
    if first == 61 then return sub(text, 5) end
    if depth > 0 then return { error = text } end
    return setmetatable({ text }, error_meta)
  elseif first == 43 then -- +
    return rest
  elseif first == 58 then -- :
    local number = tointeger(tonumber(rest))
    if not number then return nil, BROKEN end
    return number
  elseif first == 45 then -- -
    if depth > 0 then return { error = rest } end
    return setmetatable({ rest }, error_meta)
  elseif first == 95 then -- _
    return nil
  elseif first == 35 then -- #
    return rest == "t"
  elseif first == 44 then -- ,
    local number = NUMBERS[rest] or tonumber(rest)
    if not number then return nil, BROKEN end
    return number + 0.0
  elseif first == 40 then -- (
    return rest
  end
  local count = tointeger(tonumber(rest))
  if first == 42 or first == 126 or first == 62 then -- * ~ >
    if count == -1 then return nil end
    if not count or count < 0 then return nil, BROKEN end
    local list, missing = read_list(db, count, depth + 1)
    if not list then return nil, missing end
    if first ~= 62 then return list end
    -- A push is not a reply, and may come before one.
    if depth > 0 then return nil, BROKEN end
    local pushes = db.pushes
    pushes[#pushes + 1] = list
    return nil, PUSHED
  elseif first == 37 or first == 124 then -- % |
    if not count or count < 0 then return nil, BROKEN end
    local map, missing = read_map(db, count, depth + 1)
    if not map then return nil, missing end
    if first == 37 then return map end
    -- Attributes describe the value that follows.
    return read(db, depth)
  end
  return nil, BROKEN
end

-- Closes the connection: where the next reply begins is not known.
local function broken(db, problem)
  db.socket:close()
  db.ok, db.error = false, problem
  return nil, problem
end

-- Reads a reply, and keeps apart the pushes before it. The confirmation of the command of that name may be a push, too; messages that
-- others publish may come before it.
local function read_reply(db, confirmed)
  while true do
    local value, problem = read(db, 0)
    local pushes = db.pushes
    if problem == PUSHED then
      if confirmed and pushes[#pushes][1] == confirmed then return remove(pushes) end
    elseif problem then
      return broken(db, problem)
    elseif confirmed and type(value) == "table" and not is_error(value) and value[1] ~= confirmed then
      pushes[#pushes + 1] = value
    else
      return value
    end
  end
end

-- Connections --------------------------------------------------------------------------------------------

local methods = {}

local SUBSCRIBES = {
  SUBSCRIBE = true,
  PSUBSCRIBE = true,
  SSUBSCRIBE = true,
  UNSUBSCRIBE = true,
  PUNSUBSCRIBE = true,
  SUNSUBSCRIBE = true,
}

-- One exchange at a time: the replies to two would be taken for one another's.
local IN_USE = "in use: another function that runs beside this one waits for a reply over this connection, or was cancelled while it did; "
  .. "give each its own"

local function read_replies(db, count, confirmed)
  local replies = {}
  for i = 1, count do
    local reply, missing = read_reply(db, confirmed)
    if missing then return nil, missing end
    if reply == nil then reply = null end
    replies[i] = reply
  end
  return replies
end

-- Sends texts and reads so many replies.
local function exchange(db, texts, count, confirmed)
  if not db.ok then return nil, db.error end
  if db.is_in_use then return nil, IN_USE end
  db.is_in_use = true
  local replies
  local sent, problem = db.socket:send(texts)
  if sent then
    replies, problem = read_replies(db, count, confirmed)
  else
    db.ok, db.error = false, problem
  end
  db.is_in_use = false
  return replies, problem
end

local function answered(db, texts, count, confirmed)
  local replies, problem = exchange(db, texts, count, confirmed)
  if not replies then return nil, problem end
  local reply = replies[count]
  if is_error(reply) then return nil, reply[1] end
  -- A null is a reply, too.
  return true, reply
end

local function timed(db, name, texts, count, confirmed)
  local ok, reply = db.plan_user:timed(name, function() return answered(db, texts, count or 1, confirmed) end, db.row)
  if not ok then return nil, reply end
  if reply == null then return nil end
  return reply
end

local function call(db, level, command, ...)
  if type(command) ~= "string" then error("db:call takes the name of a command", level) end
  local texts, count = {}, select("#", ...)
  encode(texts, "redis " .. command, level, count + 1, command, ...)
  command = command:upper()
  if not SUBSCRIBES[command] then return timed(db, command, texts) end
  -- Each channel is confirmed.
  if count == 0 then error("redis " .. command .. ": name the channels", level) end
  return timed(db, command, texts, count, command:lower())
end

function methods.call(db, command, ...) return call(db, 2, command, ...) end

function methods.pipeline(db, commands, options)
  if type(commands) ~= "table" or type(commands[1]) ~= "table" then
    error('db:pipeline takes a list of commands: { { "SET", "a", 1 }, { "GET", "a" } }', 2)
  end
  local texts = {}
  for i = 1, #commands do
    local command = commands[i]
    if type(command) ~= "table" then error("db:pipeline: command " .. i .. " must be a list", 2) end
    encode(texts, "db:pipeline", 2, #command, table.unpack(command))
  end
  local name = options and options.name or "pipeline"
  return db.plan_user:timed(name, function()
    local replies, problem = exchange(db, { concat(texts) }, #commands)
    if not replies then return nil, problem end
    local failed
    for i = 1, #replies do
      if is_error(replies[i]) then
        failed = failed or replies[i][1]
      end
    end
    if failed then return nil, failed end
    return replies
  end, db.row)
end

-- Reads the rest of a push, whose first line has come.
local function read_push(db, first)
  local count = tointeger(tonumber(first:match "^[>*](%d+)\r$"))
  if not count then return nil, BROKEN end
  return read_list(db, count, 1)
end

function methods.pushed(db, timeout)
  if #db.pushes > 0 then return remove(db.pushes, 1) end
  if not db.ok then return nil, db.error end
  if db.is_in_use then return nil, IN_USE end
  db.is_in_use = true
  -- Only the beginning is waited for: a push that has begun is read to its end.
  local list
  local first, problem = db.socket:receive({ until_ = "\n", timeout = timeout })
  if first then
    list, problem = read_push(db, first)
  end
  db.is_in_use = false
  if list then return list end
  if not first and problem == "timeout" then return nil, problem end
  return broken(db, problem)
end

function methods.close(db)
  db.socket:close()
  db.ok = false
  db.error = db.error or "closed early: the plan has closed the connection"
end

-- Any command is a method by its name.
local connection_meta = {
  __name = "redis connection",
  __index = function(_, name)
    local method = methods[name]
    if method then return method end
    if type(name) ~= "string" or name == "error" or find(name, "[^%a_]") then return nil end
    local command = name:upper()
    method = function(db, ...)
      if type(db) ~= "table" or rawget(db, "socket") == nil then error("write db:" .. name .. "(…), with a colon", 2) end
      return call(db, 2, command, ...)
    end
    methods[name] = method
    return method
  end,
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

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.redis.Options
---@return lgoose.redis.Connection
function redis.connect(user, options)
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
  }, connection_meta)
  if not db.ok then return db end
  local ok, problem = greet(db)
  if ok and options.db and options.db ~= 0 then
    ok, problem = db:call("SELECT", options.db)
  end
  if not ok then broken(db, problem) end
  return db
end

return redis
