-- The methods of events of streams and messages of WebSockets. A part of the prelude.

local name, json = ...

return {
  __name = name,
  __metatable = false,
  __index = {
    -- Its data as JSON, or the value at the path in it.
    json = function(message, path)
      local value = json.decode(message.data)
      if path == nil then return value end
      return json.get(value, path)
    end,
  },
}
