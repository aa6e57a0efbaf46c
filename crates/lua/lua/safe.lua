-- The functions of `table` that could work for ever inside one call of C, where no limit holds: a length that
-- a metamethod or a border of powers of two makes up, a range of 2^60 places, the comparison of long strings. Takes
-- the real library and spend(work), returns the one that plans see. Loaded by a VM when it first says `table`.

local table, spend = ...

local error, getmetatable, select, type = error, getmetatable, select, type
local concat, insert, move, remove, sort = table.concat, table.insert, table.move, table.remove, table.sort

local MOST = 1 << 24

local function length(list, name)
  if type(list) ~= "table" then
    error("bad argument #1 to '" .. name .. "' (table expected, got " .. type(list) .. ")", 3)
  end
  local n = #list
  if n > MOST then error("table." .. name .. ": a list of " .. n .. " entries is too long", 3) end
  if n > 64 then spend(n) end
  return n
end

-- A copy without metamethods of the places from..to, moved back by from - 1.
local function plain(list, from, to)
  local copy = {}
  for i = from, to do
    copy[i - from + 1] = list[i]
  end
  return copy
end

local safe = {}
for name, value in next, table do
  safe[name] = value
end

function safe.concat(list, separator, from, to)
  local n = length(list, "concat")
  from, to = from or 1, to or n
  if to - from > MOST then error("table.concat: the range from " .. from .. " to " .. to .. " is too long", 2) end
  if getmetatable(list) == nil then return concat(list, separator, from, to) end
  return concat(plain(list, from, to), separator, 1, to - from + 1)
end

function safe.insert(list, ...)
  local n = length(list, "insert")
  if getmetatable(list) == nil or select("#", ...) ~= 2 then return insert(list, ...) end
  local at, value = ...
  if at < 1 or at > n + 1 then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
  for i = n, at, -1 do
    list[i + 1] = list[i]
  end
  list[at] = value
end

function safe.remove(list, ...)
  local n = length(list, "remove")
  if getmetatable(list) == nil or select("#", ...) == 0 then return remove(list, ...) end
  local at = ...
  if n + 1 ~= at and (at < 1 or at > n + 1) and not (n == 0 and at == 0) then
    error("bad argument #2 to 'remove' (position out of bounds)", 2)
  end
  local value = list[at]
  for i = at, n - 1 do
    list[i] = list[i + 1]
  end
  if at <= n then list[n] = nil end
  return value
end

local function less(a, b) return a < b end

-- More texts are compared so often that even short ones may take long: C compares each piece between two zeros by itself.
local FEW = 2000

-- More values than these take long, whatever they are.
local MANY = 1 << 18

-- Returns a comparison during which a task can be ended, nil where that of Lua itself takes no time.
local function comparison(list, n, before)
  -- It may be one of C's.
  if type(before) == "function" then return function(a, b) return before(a, b) end end
  if before == nil then
    if n > MANY then return less end
    for i = 1, n do
      local value = list[i]
      if type(value) == "string" and (n > FEW or #value > 256) then return less end
    end
  end
  return before
end

function safe.sort(list, before)
  local n = length(list, "sort")
  before = comparison(list, n, before)
  if getmetatable(list) == nil then return sort(list, before) end
  local copy = plain(list, 1, n)
  sort(copy, before)
  for i = 1, n do
    list[i] = copy[i]
  end
end

function safe.move(list, from, to, ...)
  if to - from > MOST then error("table.move: the range from " .. from .. " to " .. to .. " is too long", 2) end
  if to - from > 64 then spend(to - from) end
  return move(list, from, to, ...)
end

return safe
