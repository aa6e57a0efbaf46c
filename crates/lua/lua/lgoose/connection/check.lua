-- Mistakes in the options of a call. A part of `lgoose.socketio` and `lgoose.graphql_ws`.

local core = ...

local error, pairs, tostring, type = error, pairs, tostring, type

-- Raises an error unless these are options of the call: their names and types, of which "duration", "count" and "any" are some, too.
-- The level is that of the caller.
return function(call, options, types, level)
  if type(options) ~= "table" then error(call .. ": the options are a table", level + 1) end
  for name, value in pairs(options) do
    local expected = types[name]
    if not expected then
      local names = {}
      for known in pairs(types) do
        names[#names + 1] = known
      end
      table.sort(names)
      error(("%s: unknown option '%s'; options: %s"):format(call, tostring(name), table.concat(names, ", ")), level + 1)
    elseif expected == "count" then
      if math.type(value) ~= "integer" or value < 1 then
        error(("%s: option '%s' is a whole number, at least 1, not %s"):format(call, name, tostring(value)), level + 1)
      end
    elseif expected == "duration" then
      core.seconds(call, value, level + 1)
    elseif expected ~= "any" and type(value) ~= expected then
      error(("%s: option '%s' must be a %s, not %s"):format(call, name, expected, type(value)), level + 1)
    end
  end
end
