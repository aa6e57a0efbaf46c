-- A library as a plan sees it: it can be read and called, not changed. Returns the function that makes one.

local H, fail = ...
local setmetatable, tostring = setmetatable, tostring

return function(name, library)
  return setmetatable({}, {
    __metatable = false,
    __index = function(_, key)
      local value = library[key]
      if value == nil then fail(H.unknown_member(name, tostring(key), library)) end
      return value
    end,
    __newindex = function(_, key) fail(H.refused(name, tostring(key))) end,
    __call = library.__call,
  })
end
