-- Binary data of events. A part of `lgoose.socketio`, kept with the first.

local core = ...

local getmetatable, next, rawget, type = getmetatable, next, rawget, type
local binary_meta = core.binary_meta

-- Returns a value with placeholders for its binary data, which is appended to the pieces; a copy where it has some.
local function extract(value, pieces)
  if type(value) ~= "table" then return value end
  if getmetatable(value) == binary_meta then
    pieces[#pieces + 1] = value[1]
    return { _placeholder = true, num = #pieces - 1 }
  end
  local copy
  for key, part in next, value do
    local sent = extract(part, pieces)
    if sent ~= part and not copy then
      copy = {}
      for name, old in next, value do
        copy[name] = old
      end
    end
    if copy then copy[key] = sent end
  end
  return copy or value
end

-- Returns a value with its binary data in place of the placeholders; nil if there is none for one of them.
local function restore(value, pieces)
  if type(value) ~= "table" then return value end
  if rawget(value, "_placeholder") == true then
    local number = rawget(value, "num")
    return math.type(number) == "integer" and pieces[number + 1] or nil
  end
  for key, part in next, value do
    local whole = restore(part, pieces)
    if whole == nil then return nil end
    value[key] = whole
  end
  return value
end

return { extract = extract, restore = restore }
