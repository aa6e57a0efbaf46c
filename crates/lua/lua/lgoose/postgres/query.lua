-- Queries and their results. A part of `lgoose.postgres`, kept with the first one.

local core = ...

local find, match, sub, unpack = string.find, string.match, string.sub, string.unpack
local error, getmetatable, pairs, setmetatable, tonumber, type = error, getmetatable, pairs, setmetatable, tonumber, type
local messages = core.keep "messages"
local broken, message, next_reply, read_strings, BROKEN =
  messages.broken, messages.message, messages.next_reply, messages.read_strings, messages.BROKEN

-- Values -------------------------------------------------------------------------------------------------

local SPECIAL = { NaN = 0 / 0, Infinity = math.huge, ["-Infinity"] = -math.huge }

local function integer_of(text) return math.tointeger(tonumber(text)) or text end

local function number_of(text)
  local number = SPECIAL[text] or tonumber(text)
  return number and number + 0.0 or text
end

-- What makes a Lua value of a text, by the number of the type.
local CONVERTERS = {
  [16] = function(text) return text == "t" end,
  [17] = function(text) return core.keep "bytea"(text) end,
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

-- Results ------------------------------------------------------------------------------------------------

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
      local _, failed, parts = core.keep "errors"(db, text, at, last)
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
      db.socket:send { message("f", NO_COPY .. "\0"), statement and message("S", "") or "" }
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

-- Sends a query in the name of a row.
local function run(db, name, timeout, sql, texts, count)
  return messages.timed(db, name, timeout, function()
    local packet, statement
    if texts then
      packet, statement = core.keep("parameters").execution(db, sql, texts, count)
    else
      packet = message("Q", sql .. "\0")
    end
    local sent, unsent = db.socket:send(packet)
    if not sent then return broken(db, unsent) end
    local result, problem, detail = read_results(db, statement)
    -- One that was not prepared, that something else has deallocated, or whose columns have changed is prepared anew.
    if statement and (not statement.is_parsed or (detail and (detail.code == "26000" or detail.code == "0A000"))) then
      statement.is_parsed, statement.columns = false, nil
    end
    return result, problem, detail
  end)
end

local function are_options(options)
  if type(options) ~= "table" then return false end
  for name in pairs(options) do
    if name ~= "name" and name ~= "timeout" then return false end
  end
  return true
end

local function query(db, sql, parameters, options)
  if type(sql) ~= "string" or find(sql, "\0", 1, true) then error("db:query takes a query, a string without zero bytes", 2) end
  if parameters ~= nil and type(parameters) ~= "table" then error("db:query: the parameters are a list: { 7 }", 2) end
  local name, timeout
  if options ~= nil then
    if not are_options(options) then core.load "check"("db:query", options, "name, timeout", 2) end
    name, timeout = options.name, options.timeout
    if timeout ~= nil then timeout = core.seconds("db:query", timeout, 2) end
  end
  if not name then name = (match(sql, "^[%s(]*(%a+)") or "query"):upper() end
  if not parameters then return run(db, name, timeout, sql) end
  return run(db, name, timeout, sql, core.keep("parameters").texts_of(parameters))
end

return { query = query, run = run }
