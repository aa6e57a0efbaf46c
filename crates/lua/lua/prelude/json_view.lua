-- Views of a value that the process has once. A part of the prelude; Rust gives each value a number.

local NODE, read, child, whole, length, iterate, refuse = ...
local setmetatable = setmetatable

local function view(node)
  -- A small table is read as a whole, but for the tables in it; of a large one, views stay as long as the plan has them.
  local known, inner = read(node)
  if inner then
    setmetatable(known, {
      __mode = inner,
      __index = function(_, key)
        local value, table = child(node, key)
        if table then
          value = view(table)
          known[key] = value
        end
        return value
      end,
    })
  end
  return setmetatable({}, {
    [NODE] = node,
    whole = whole,
    __metatable = false,
    __index = known,
    __len = length,
    __pairs = iterate,
    __newindex = refuse,
  })
end

return view
