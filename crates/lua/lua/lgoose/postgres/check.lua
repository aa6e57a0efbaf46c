-- Mistakes in the names of options. A part of `lgoose.postgres`.

local find, format = string.find, string.format
local error, pairs, tostring, type = error, pairs, tostring, type

-- Raises an error at the plan's line unless these are options of the call.
return function(owner, options, known, level)
  if type(options) ~= "table" then error(owner .. ": the options are a table", level + 1) end
  for name in pairs(options) do
    if type(name) ~= "string" or not find(", " .. known .. ",", ", " .. name .. ",", 1, true) then
      error(format("%s: unknown option '%s'; options: %s", owner, tostring(name), known), level + 1)
    end
  end
end
