-- Commands and their replies. A part of `lgoose.redis`, kept with the first connection.

local core = ...

local byte, find, sub = string.byte, string.find, string.sub
local remove, tointeger, kind_of = table.remove, math.tointeger, math.type
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
    if name == "pipeline" or name == "pushed" then return core.keep(name) end
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

return {
  meta = connection_meta,
  encode = encode,
  exchange = exchange,
  timed = timed,
  is_error = is_error,
  read_list = read_list,
  broken = broken,
  BROKEN = BROKEN,
  IN_USE = IN_USE,
}
