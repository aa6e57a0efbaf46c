---PostgreSQL and other servers that speak its protocol (version 3): queries, transactions, notifications.
---
---    local postgres = require "lgoose.postgres"
---    local db = postgres.connect(user, { address = "127.0.0.1:5432", user = "ann", password = env "PASSWORD", database = "shop" })
---    local rows = db:query("select name, price from items where id = $1", { 7 }, { name = "item by id" })
---    local name = rows[1].name
---
---Each query is a request, in the row `SQL name`; without a name, in that of its first word, such as `SQL SELECT`. The connection is the
---row `TCP postgres`; `SQL connect` is the login, with TLS.
---
---With parameters (also an empty list), a query is prepared once per connection and then executed. Without, it is a simple query, which may
---have several statements. Values of columns become Lua values:
---
---| | |
---|---|---|
---| smallint, integer, bigint, oid | an integer |
---| real, double precision | a number |
---| boolean | true or false |
---| bytea | a string of its bytes |
---| null | nil: the column is missing from the row |
---| anything else: text, numeric, json, arrays, times … | a string, as the server writes it |
---@class lgoose.postgres
local postgres = {}

---@class lgoose.postgres.Options
---@field address? string # host:port (default: the host of the user, and its port)
---@field name? string # the row of the connection (default: "postgres")
---@field database? string # (default: the name of the database user)
---@field user? string # the database user (default: "postgres")
---@field password? string # for the methods trust, password, md5 and scram-sha-256
---@field tls? boolean|"prefer" # "prefer": only if the server supports it (default: false)
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)
---@field application_name? string # (default: "lgoose")
---@field parameters? table<string, string|number> # settings of the session, such as { search_path = "shop" }
---@field statements? integer # the most statements that are kept prepared; 0 prepares each anew, as some poolers require (default: 100)
---@field timeout? lgoose.Duration # for the login and for each query (default: the plan's timeout, for each wait)
---@field max_buffer? integer # the most bytes of a message of the server, such as a row (default: 1 MiB)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection.
---@class lgoose.postgres.Connection
---@field ok boolean # whether it is open, and the server has accepted the login
---@field error? string # why it is not ok
---@field last_error? lgoose.postgres.Error # the last error of the server
---@field status "idle"|"open"|"failed" # whether a transaction is open, or a statement in it has failed
---@field process? integer # the process of the server, as pg_backend_pid() returns it
---@field server table<string, string> # settings that the server reports, such as server_version
---@field query fun(self: lgoose.postgres.Connection, sql: string, parameters?: any[], options?: lgoose.postgres.QueryOptions): lgoose.postgres.Result?, string?, lgoose.postgres.Error? # sends a query, and returns its rows, or nil, the reason for the failure and, if it comes from the server, its parts
---@field transaction fun(self: lgoose.postgres.Connection, fn: (fun(db: lgoose.postgres.Connection): ...), options?: lgoose.postgres.TransactionOptions): any, string? # calls the function between BEGIN and COMMIT, and returns what it returns, or true; if it raises an error or returns nil and a reason, or if a query in it has failed, ROLLBACK follows instead
---@field notified fun(self: lgoose.postgres.Connection, timeout?: lgoose.Duration): lgoose.postgres.Notification?, string? # waits for a notification of a channel that the session listens to
---@field close fun(self: lgoose.postgres.Connection)

---@class lgoose.postgres.QueryOptions
---@field name? string # the row `SQL name` (default: the first word of the query)
---@field timeout? lgoose.Duration # in place of that of the connection

---@class lgoose.postgres.TransactionOptions
---@field name? string # measure it as a transaction of that name, as user:transaction does
---@field begin? string # (default: "BEGIN")

---A list of rows, each a table by the name of the column. Of columns with the same name, the last one counts.
---@class lgoose.postgres.Result
---@field [integer] table<string, any>
---@field command string # what was done, such as "SELECT" or "CREATE TABLE"
---@field count integer # the number of rows that were returned, inserted, changed or deleted
---@field columns string[] # the names of the columns, in order
---@field results? lgoose.postgres.Result[] # the results of all statements of the query, if it has several; the last one is this

---An error of the server.
---@class lgoose.postgres.Error
---@field code string # SQLSTATE, such as "23505"
---@field message string
---@field severity string # "ERROR", "FATAL" or "PANIC"
---@field detail? string
---@field hint? string
---@field position? string # of the character in the query at which it was noticed
---@field where? string
---@field schema? string
---@field table? string
---@field column? string
---@field constraint? string

---@class lgoose.postgres.Notification
---@field channel string
---@field payload string
---@field process integer # the process of the server that has sent it

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

local find, format, match, sub = string.find, string.format, string.match, string.sub
local pack, unpack = string.pack, string.unpack
local concat, kind_of, clock = table.concat, math.type, os.clock
local error, pairs, pcall, setmetatable, tonumber, tostring, type = error, pairs, pcall, setmetatable, tonumber, tostring, type
local null = json.null

local BROKEN = "protocol: this is no message of PostgreSQL"
local TOO_LARGE = "too large: a message of the server is larger than 'max_buffer'"

-- One exchange at a time: the replies to two would be taken for one another's.
local IN_USE = "in use: another function that runs beside this one waits for a reply over this connection, or was cancelled while it did; "
  .. "give each its own"

local function check_names(owner, options, known, level)
  if type(options) ~= "table" then error(owner .. ": the options are a table", level + 1) end
  for name in pairs(options) do
    if type(name) ~= "string" or not find(", " .. known .. ",", ", " .. name .. ",", 1, true) then
      error(format("%s: unknown option '%s'; options: %s", owner, tostring(name), known), level + 1)
    end
  end
end

-- Messages -----------------------------------------------------------------------------------------------

local function message(kind, body) return kind .. pack(">I4", #body + 4) .. body end

local SYNC = message("S", "")

-- Closes the connection: where the next message begins is not known.
local function broken(db, problem, detail)
  db.socket:close()
  db.ok, db.error = false, problem
  return nil, problem, detail
end

-- Returns a duration in seconds.
local function seconds(owner, duration, level)
  local is_valid, rule = pcall(wait.constant, duration)
  if not is_valid then error(owner .. ": option 'timeout' is a number of seconds, or a text such as '500ms'", level + 1) end
  return rule[1]
end

-- Receives what has come, or so many bytes. Without a limit for the whole exchange, that of the plan applies each time.
local function receive(db, what)
  local deadline = db.deadline
  if not deadline then return db.socket:receive(what) end
  local rest = deadline - clock()
  if rest <= 0 then return nil, "timeout" end
  return db.socket:receive(what, { timeout = rest })
end

-- Reads the next message. Returns its kind, the text in which it is, and its first and its last place there; nil and a reason if none comes.
local function next_message(db)
  while true do
    local text, at = db.received, db.at
    local there = #text - at + 1
    local more, problem
    if there < 5 then
      more, problem = receive(db, "some")
    else
      local kind, length = unpack(">c1I4", text, at)
      -- Only some kinds are ever long. Anything else is the beginning of another protocol.
      if length < 4 or (length > 30000 and not find("TDdENA", kind, 1, true)) then return nil, BROKEN end
      if length >= db.most then return nil, TOO_LARGE end
      if there > length then
        db.at = at + length + 1
        -- Rows take memory of the user. All else is limited by what may come in one exchange.
        if kind ~= "D" then
          db.left = db.left - length
          if db.left < 0 then return nil, "too large: the server sends more than 'max_buffer' in addition to rows" end
        end
        return kind, text, at + 5, at + length
      end
      more, problem = receive(db, length + 1 - there)
    end
    if not more then return nil, problem end
    db.received, db.at = sub(text, at) .. more, 1
  end
end

-- Reads strings that end with a zero each. Returns nil if there are not that many.
local function read_strings(text, at, last, count)
  local strings = {}
  for i = 1, count do
    local stop = find(text, "\0", at, true)
    if not stop or stop > last then return nil end
    strings[i] = sub(text, at, stop - 1)
    at = stop + 1
  end
  return strings, at
end

local FIELDS = {
  S = "severity",
  V = "severity",
  C = "code",
  M = "message",
  D = "detail",
  H = "hint",
  P = "position",
  W = "where",
  s = "schema",
  t = "table",
  c = "column",
  n = "constraint",
}

-- Reads an error of the server. Returns nil, its text and its parts.
local function read_error(db, text, at, last)
  local parts = {}
  for key, value in sub(text, at, last):gmatch "([^\0])([^\0]*)\0" do
    -- V is what S is in the server's language.
    if FIELDS[key] then parts[FIELDS[key]] = value end
  end
  if not parts.code or not parts.message then return broken(db, BROKEN) end
  db.last_error = parts
  local problem = parts.code .. ": " .. parts.message
  -- The server closes the connection.
  if parts.severity ~= "ERROR" then broken(db, problem) end
  return nil, problem, parts
end

-- Reads the next message that is no notice and no setting, which may come at any time.
local function next_reply(db, is_idle)
  while true do
    local kind, text, at, last = next_message(db)
    if not kind then
      -- What has arrived of a message by then is kept.
      if is_idle and text == "timeout" then return nil, text end
      return broken(db, text)
    end
    if kind == "S" then
      local pair = read_strings(text, at, last, 2)
      if not pair then return broken(db, BROKEN) end
      db.server[pair[1]] = pair[2]
    elseif kind == "A" then
      local pair = last - at > 3 and read_strings(text, at + 4, last, 2)
      if not pair then return broken(db, BROKEN) end
      local waiting = db.notifications
      waiting[#waiting + 1] = { channel = pair[1], payload = pair[2], process = unpack(">I4", text, at) }
      return "A"
    elseif kind ~= "N" then
      return kind, text, at, last
    end
  end
end

-- Values -------------------------------------------------------------------------------------------------

local SPECIAL = { NaN = 0 / 0, Infinity = math.huge, ["-Infinity"] = -math.huge }

local function integer_of(text) return math.tointeger(tonumber(text)) or text end

local function number_of(text)
  local number = SPECIAL[text] or tonumber(text)
  return number and number + 0.0 or text
end

local function bytes_of(text)
  if find(text, "^\\x") and not find(text, "%X", 3) and #text % 2 == 0 then return hex.decode(sub(text, 3)) end
  -- With bytea_output = escape.
  return (text:gsub("\\([\\0-7])([0-7]?[0-7]?)", function(first, rest)
    if first == "\\" then return first .. rest end
    return string.char(tonumber(first .. rest, 8) & 255)
  end))
end

-- What makes a Lua value of a text, by the number of the type.
local CONVERTERS = {
  [16] = function(text) return text == "t" end,
  [17] = bytes_of,
  [20] = integer_of,
  [21] = integer_of,
  [23] = integer_of,
  [26] = integer_of,
  [700] = number_of,
  [701] = number_of,
}

-- Reads the names of columns, and what converts their values. Returns nil if the description is not complete.
local function read_columns(text, at, last)
  local names, converters = {}, {}
  if last - at < 1 then return nil end
  local count = unpack(">I2", text, at)
  at = at + 2
  for i = 1, count do
    local name
    name, at = read_strings(text, at, last, 1)
    if not name or at + 17 > last then return nil end
    names[i] = name[1]
    converters[i] = CONVERTERS[unpack(">I4", text, at + 6)] or false
    at = at + 18
  end
  return { names = names, converters = converters }
end

local function read_row(columns, text, at, last)
  local names, converters, row = columns.names, columns.converters, {}
  if last - at < 1 or unpack(">I2", text, at) ~= #names then return nil end
  at = at + 2
  for i = 1, #names do
    if at + 3 > last then return nil end
    local length = unpack(">i4", text, at)
    at = at + 4
    if length >= 0 then
      local value = sub(text, at, at + length - 1)
      at = at + length
      if at > last + 1 then return nil end
      local convert = converters[i]
      if convert then value = convert(value) end
      row[names[i]] = value
    elseif length ~= -1 then
      return nil
    end
  end
  return row
end

local function text_of(value, i)
  local kind = kind_of(value)
  if type(value) == "string" then return value end
  if kind == "integer" then return tostring(value) end
  if kind == "float" then
    if value ~= value then return "NaN" end
    if value == math.huge or value == -math.huge then return value > 0 and "Infinity" or "-Infinity" end
    -- Whole ones are valid for integers, too.
    if value == math.floor(value) and value > -1e15 and value < 1e15 then return format("%.0f", value) end
    for digits = 15, 17 do
      local text = format("%." .. digits .. "g", value)
      if tonumber(text) == value then return text end
    end
  end
  if type(value) == "boolean" then return value and "t" or "f" end
  error(
    format(
      "db:query: parameter %d must be a string, a number, a boolean or nil, not %s%s",
      i,
      type(value),
      type(value) == "table" and "; write an array as '{1,2}', and JSON with json.encode" or ""
    ),
    4
  )
end

-- Returns the texts of parameters, false for a null, and their number.
local function texts_of(parameters)
  local count = parameters.n or 0
  for key in pairs(parameters) do
    if kind_of(key) == "integer" and key > 0 then
      count = key > count and key or count
    elseif key ~= "n" then
      error("db:query: the parameters are a list: db:query(sql, { 7, \"name\" }, { name = \"row\" })", 3)
    end
  end
  if kind_of(count) ~= "integer" or count > 65535 then error("db:query: a query has up to 65535 parameters", 3) end
  local texts = {}
  for i = 1, count do
    local value = parameters[i]
    texts[i] = value ~= nil and value ~= null and text_of(value, i)
  end
  return texts, count
end

-- Queries ------------------------------------------------------------------------------------------------

-- The messages that execute a statement, and those before them that prepare it if it is new.
local function execution(db, sql, texts, count)
  local statements, most = db.statements, db.options.statements or 100
  local statement, messages = statements[sql], {}
  if not statement then
    statement = { name = "" }
    if most > 0 then
      local place = db.prepared % most + 1
      db.prepared = place
      statement.name = "lgoose_" .. place
      -- The place of the oldest one.
      local oldest = statements[place]
      if oldest then statements[oldest] = nil end
      statements[place], statements[sql] = sql, statement
    end
  end
  local name = statement.name
  if not statement.is_parsed then
    -- Nothing happens if there is none.
    if name ~= "" then messages[1] = message("C", "S" .. name .. "\0") end
    messages[#messages + 1] = message("P", name .. "\0" .. sql .. "\0\0\0")
  end
  if not statement.columns then messages[#messages + 1] = message("D", "S" .. name .. "\0") end
  local values = {}
  for i = 1, count do
    local text = texts[i]
    values[i] = text and pack(">s4", text) or "\xff\xff\xff\xff"
  end
  messages[#messages + 1] = message("B", pack(">zzI2I2", "", name, 0, count) .. concat(values) .. "\0\0")
  messages[#messages + 1] = message("E", "\0\0\0\0\0") .. SYNC
  return concat(messages), statement
end

local NO_COPY = "COPY is not supported"
local STATUS = { I = "idle", T = "open", E = "failed" }
local EMPTY = { names = {}, converters = {} }

-- Reads all up to the end of an exchange. Returns the result of the last statement, or nil, the reason of the failure and its parts.
local function read_results(db, statement)
  local columns, rows = statement and statement.columns, {}
  local results, problem, detail = {}, nil, nil
  while true do
    local kind, text, at, last = next_reply(db)
    if not kind then return nil, text end
    if kind == "D" then
      local row = columns and read_row(columns, text, at, last)
      if not row then return broken(db, BROKEN) end
      rows[#rows + 1] = row
    elseif kind == "T" then
      columns = read_columns(text, at, last)
      if not columns then return broken(db, BROKEN) end
      if statement then statement.columns = columns end
    elseif kind == "C" or kind == "I" then
      local tag = kind == "I" and "" or sub(text, at, last - 1)
      local info = {
        command = match(tag, "^(.-)[ %d]*$"),
        count = tonumber(match(tag, " (%d+)$") or 0),
        columns = (columns or EMPTY).names,
      }
      info.__index = info
      results[#results + 1] = setmetatable(rows, info)
      rows = {}
      if not statement then columns = nil end
    elseif kind == "E" then
      local _, failed, parts = read_error(db, text, at, last)
      if not db.ok then return nil, failed, parts end
      if not problem then problem, detail = failed, parts end
      -- All further ones only say that the transaction has failed.
      if db.status == "open" then db.failure = failed end
    elseif kind == "Z" then
      db.status = STATUS[sub(text, at, last)]
      if not db.status or (#results == 0 and not problem) then return broken(db, BROKEN) end
      if problem then return nil, problem, detail end
      local result = results[#results]
      if #results > 1 then getmetatable(result).results = results end
      return result
    elseif kind == "G" then
      problem = NO_COPY
      -- The Sync of before was skipped.
      db.socket:send { message("f", NO_COPY .. "\0"), statement and SYNC or "" }
    elseif kind == "H" then
      problem = NO_COPY
    elseif kind == "1" and statement then
      statement.is_parsed = true
    elseif kind == "n" and statement then
      statement.columns = EMPTY
    elseif kind == "W" or not find("A23tdc", kind, 1, true) then
      return broken(db, BROKEN)
    end
  end
end

-- Ends an exchange by its outcome.
local function over(db, ok, result, ...)
  db.is_in_use = false
  if ok then return result, ... end
  if not find(tostring(result), "not enough memory", 1, true) then
    broken(db, "closed early: an exchange over this connection was interrupted by an error")
    error(result, 0)
  end
  return broken(db, "too large: the result does not fit into the memory of the user ('--lua-memory')")
end

-- Begins an exchange that ends within so many seconds.
local function begin(db, timeout)
  db.is_in_use, db.left = true, db.most
  -- What has arrived is received in no time.
  db.deadline = timeout and clock() + math.max(timeout, 0.001)
end

-- Counts an exchange as a request.
local function timed(db, name, timeout, fn)
  return db.plan_user:timed(name, function()
    if not db.ok then return nil, db.error end
    if db.is_in_use then return nil, IN_USE end
    begin(db, timeout or db.timeout)
    return over(db, pcall(fn))
  end, db.row)
end

-- Sends a query in the name of a row.
local function run(db, name, timeout, sql, texts, count)
  return timed(db, name, timeout, function()
    local messages, statement
    if texts then
      messages, statement = execution(db, sql, texts, count)
    else
      messages = message("Q", sql .. "\0")
    end
    local sent, unsent = db.socket:send(messages)
    if not sent then return broken(db, unsent) end
    local result, problem, detail = read_results(db, statement)
    -- One that was not prepared, that something else has deallocated, or whose columns have changed is prepared anew.
    if statement and (not statement.is_parsed or (detail and (detail.code == "26000" or detail.code == "0A000"))) then
      statement.is_parsed, statement.columns = false, nil
    end
    return result, problem, detail
  end)
end

local methods = {}

function methods.query(db, sql, parameters, options)
  if type(sql) ~= "string" or find(sql, "\0", 1, true) then error("db:query takes a query, a string without zero bytes", 2) end
  if parameters ~= nil and type(parameters) ~= "table" then error("db:query: the parameters are a list: { 7 }", 2) end
  local name, timeout
  if options ~= nil then
    check_names("db:query", options, "name, timeout", 2)
    name, timeout = options.name, options.timeout
    if timeout ~= nil then timeout = seconds("db:query", timeout, 2) end
  end
  if not name then name = (match(sql, "^[%s(]*(%a+)") or "query"):upper() end
  if not parameters then return run(db, name, timeout, sql) end
  return run(db, name, timeout, sql, texts_of(parameters))
end

-- Ends the transaction by the outcome of its function.
local function finish(db, ok, value, problem, ...)
  if db.ok and db.status ~= "idle" then
    if ok and db.status == "failed" and (value or problem == nil) then
      value, problem = nil, db.failure
    end
    if not ok or (not value and problem ~= nil) then
      run(db, "ROLLBACK", nil, "ROLLBACK")
    else
      local done, uncommitted, detail = run(db, "COMMIT", nil, "COMMIT")
      if not done then return nil, uncommitted, detail end
    end
  end
  -- The error keeps its line.
  if not ok then error(value, 0) end
  if not db.ok and (value or problem == nil) then return nil, db.error end
  if value == nil and problem == nil then return true end
  return value, problem, ...
end

local function transact(db, fn, begin)
  local began, problem, detail = run(db, "BEGIN", nil, begin)
  if not began then return nil, problem, detail end
  return finish(db, pcall(fn, db))
end

function methods.transaction(db, fn, options)
  if type(fn) ~= "function" then error("db:transaction takes a function: db:transaction(function() … end)", 2) end
  options = options or {}
  check_names("db:transaction", options, "begin, name", 2)
  for key, value in pairs(options) do
    if type(value) ~= "string" then error("db:transaction: option '" .. key .. "' must be a string, not " .. type(value), 2) end
  end
  local user, name, begin = db.plan_user, options.name, options.begin or "BEGIN"
  if db.ok and db.status ~= "idle" then
    -- The plan may have left an iteration in the middle of one.
    if not db.began_in or db.began_in == user.iteration then
      error("db:transaction: a transaction is open on this connection; use SAVEPOINT within it", 2)
    end
    run(db, "ROLLBACK", nil, "ROLLBACK")
  end
  db.began_in = user.iteration
  if not name then return transact(db, fn, begin) end
  return user:transaction(name, function() return transact(db, fn, begin) end)
end

function methods.notified(db, timeout)
  local waiting = db.notifications
  if timeout ~= nil then timeout = seconds("db:notified", timeout, 2) end
  if #waiting == 0 then
    if not db.ok then return nil, db.error end
    if db.is_in_use then return nil, IN_USE end
    begin(db, timeout)
    local kind, text, at, last = next_reply(db, true)
    db.is_in_use = false
    if not kind then return nil, text end
    if kind == "E" then
      local _, problem = read_error(db, text, at, last)
      return broken(db, problem)
    elseif kind ~= "A" then
      return broken(db, BROKEN)
    end
  end
  return table.remove(waiting, 1)
end

function methods.close(db)
  if db.ok and not db.is_in_use then db.socket:send(message("X", "")) end
  db.socket:close()
  db.ok = false
  db.error = db.error or "closed early: the plan has closed the connection"
end

local connection_meta = { __name = "postgres connection", __index = methods }

-- Login --------------------------------------------------------------------------------------------------

-- Reads the next message about the login. Returns the number of the method and its data.
local function read_login(db)
  while true do
    local kind, text, at, last = next_reply(db)
    if not kind then return nil, text end
    if kind == "E" then
      local _, problem = read_error(db, text, at, last)
      return broken(db, problem)
    elseif kind == "R" and last - at > 2 then
      return unpack(">I4", text, at), sub(text, at + 4, last)
    elseif kind ~= "A" and kind ~= "v" then
      return broken(db, BROKEN)
    end
  end
end

local function send_password(db, text)
  local sent, problem = db.socket:send(message("p", text))
  if not sent then return broken(db, problem) end
  return true
end

-- The password as it was derived last: it takes thousands of digests, and all connections of a user derive the same.
local derived = {}

local function derive(password, salt, iterations)
  local key = pack("s4s4I4", password, salt, iterations)
  if derived.key ~= key then
    derived.key, derived.value = key, hash.pbkdf2(password, salt, iterations, "raw")
  end
  return derived.value
end

-- SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
local function scram(db, password, mechanisms)
  if not find("\0" .. mechanisms, "\0SCRAM-SHA-256\0", 1, true) then
    return broken(db, "login: the server requires " .. match(mechanisms, "^[%w-]*") .. ", which is not supported; SCRAM-SHA-256 is")
  end
  local nonce = base64.encode(random.bytes(18))
  local first = "n=,r=" .. nonce
  if not send_password(db, "SCRAM-SHA-256\0" .. pack(">s4", "n,," .. first)) then return nil, db.error end
  local method, challenge = read_login(db)
  if not method then return nil, challenge end
  local both, salt, iterations = match(challenge, "^r=([^,]*),s=([^,]*),i=(%d+)")
  local is_valid, bytes = pcall(base64.decode, salt)
  iterations = math.tointeger(tonumber(iterations))
  if method ~= 11 or not is_valid or sub(both, 1, #nonce) ~= nonce or #both == #nonce or not iterations or iterations < 1 then
    return broken(db, BROKEN)
  end
  if iterations > 2000000 then return broken(db, "login: the server requires " .. iterations .. " iterations of SCRAM; 2000000 are possible") end
  local salted, hmac = derive(password, bytes, iterations), hash.hmac_sha256
  local last = "c=biws,r=" .. both
  local signed = first .. "," .. challenge .. "," .. last
  local key = hmac(salted, "Client Key", "raw")
  local a, b, c, d = unpack("i8i8i8i8", key)
  local e, f, g, h = unpack("i8i8i8i8", hmac(hash.sha256(key, "raw"), signed, "raw"))
  if not send_password(db, last .. ",p=" .. base64.encode(pack("i8i8i8i8", a ~ e, b ~ f, c ~ g, d ~ h))) then return nil, db.error end
  local signature
  method, signature = read_login(db)
  if not method then return nil, signature end
  if method ~= 12 then return broken(db, BROKEN) end
  if match(signature, "^v=([^,]*)") ~= base64.encode(hmac(hmac(salted, "Server Key", "raw"), signed, "raw")) then
    return broken(db, "login: the server does not know the password: its signature is wrong")
  end
  return true
end

local METHODS = { [2] = "Kerberos V5", [6] = "SCM credentials", [7] = "GSSAPI", [9] = "SSPI" }

-- Says who the user is, as the server requires it.
local function authenticate(db)
  local options, method, data = db.options, read_login(db)
  if method == 3 or method == 5 or method == 10 then
    local password, sent, problem = options.password, nil, nil
    if not password then return broken(db, "login: the server requires a password: set option 'password'") end
    if method == 10 then
      sent, problem = scram(db, password, data)
    elseif method == 5 then
      sent, problem = send_password(db, "md5" .. hash.md5(hash.md5(password .. db.account) .. data) .. "\0")
    else
      sent, problem = send_password(db, password .. "\0")
    end
    if not sent then return nil, problem end
    method, data = read_login(db)
  end
  if method == 0 then return true end
  if not method then return nil, data end
  return broken(db, "login: the server requires a method that is not supported: " .. (METHODS[method] or tostring(method)))
end

local function start_tls(db)
  local options, socket = db.options, db.socket
  local ok, problem = socket:send "\0\0\0\8\4\210\22\47"
  if not ok then return broken(db, problem) end
  local reply
  reply, problem = receive(db, 1)
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
  ok, problem = authenticate(db)
  if not ok then return nil, problem end
  while true do
    local kind, reply, at, last = next_reply(db)
    if not kind then return nil, reply end
    if kind == "Z" then
      return true
    elseif kind == "E" then
      local _, refusal = read_error(db, reply, at, last)
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
  check_names("postgres.connect", options, OPTIONS, 3)
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
  return options.timeout ~= nil and seconds("postgres.connect", options.timeout, 3) or nil
end

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.postgres.Options
---@return lgoose.postgres.Connection
function postgres.connect(user, options)
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
  }, connection_meta)
  if db.ok then timed(db, "connect", nil, function() return login(db) end) end
  return db
end

---Returns a parameter for a column of type bytea.
---@param bytes string
---@return string
function postgres.bytes(bytes) return "\\x" .. hex.encode(bytes) end

return postgres
