-- Values of the type bytea. A part of `lgoose.postgres`, kept with the first one.

local find = string.find

-- Returns the bytes of a text.
return function(text)
  if find(text, "^\\x") and not find(text, "%X", 3) and #text % 2 == 0 then return hex.decode(text:sub(3)) end
  -- With bytea_output = escape.
  return (text:gsub("\\([\\0-7])([0-7]?[0-7]?)", function(first, rest)
    if first == "\\" then return first .. rest end
    return string.char(tonumber(first .. rest, 8) & 255)
  end))
end
