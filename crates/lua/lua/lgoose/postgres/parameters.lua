-- Queries with parameters, which are prepared. A part of `lgoose.postgres`, kept with the first one.

local core = ...

local format, pack = string.format, string.pack
local concat, kind_of = table.concat, math.type
local error, pairs, tonumber, tostring, type = error, pairs, tonumber, tostring, type
local message = core.keep("messages").message

local statements = {}

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
function statements.texts_of(parameters)
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
    texts[i] = value ~= nil and value ~= json.null and text_of(value, i)
  end
  return texts, count
end

-- The messages that execute a statement, and those before them that prepare it if it is new.
function statements.execution(db, sql, texts, count)
  local prepared, most = db.statements, db.options.statements or 100
  local statement, messages = prepared[sql], {}
  if not statement then
    statement = { name = "" }
    if most > 0 then
      local place = db.prepared % most + 1
      db.prepared = place
      statement.name = "lgoose_" .. place
      -- The place of the oldest one.
      local oldest = prepared[place]
      if oldest then prepared[oldest] = nil end
      prepared[place], prepared[sql] = sql, statement
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
  messages[#messages + 1] = message("E", "\0\0\0\0\0") .. message("S", "")
  return concat(messages), statement
end

return statements
