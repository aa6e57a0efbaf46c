-- Tasks declared in loops over `pairs`, whose order Lua makes anew in each VM: for every user, a task must be the
-- one that its name says. A loop while the file is loaded goes by the order of the keys.

local function visit(name)
  return function(user)
    assert(user.task == name, "the task '" .. user.task .. "' runs what belongs to '" .. name .. "'")
    user:get("/status/200?task=" .. name)
  end
end

local pages = {}
for letter in ("abcdefghijklmnopqrstuvwxyz"):gmatch "." do
  pages["page-" .. letter] = letter:byte()
end

local seen = {}
for name in pairs(pages) do
  seen[#seen + 1] = name
  task { name, visit(name) }
end
for i = 2, #seen do
  assert(seen[i - 1] < seen[i])
end

-- Lists first, then numbers, texts, booleans; what is set to nil on the way is left out; metamethods stay.
local mixed, order = { "one", "two", [10] = true, [-1] = true, b = true, a = true, [true] = 1, [false] = 0 }, {}
for key in pairs(mixed) do
  order[#order + 1] = tostring(key)
  mixed.b = nil
end
assert(table.concat(order, " ") == "1 2 -1 10 a false true", table.concat(order, " "))
local own = setmetatable({}, { __pairs = function() return function(_, key) if not key then return "own" end end end })
for key in pairs(own) do
  assert(key == "own")
end
assert(not pcall(function() for _ in pairs(nil) do end end))

local while_loading = pairs
task { "later", on_start = true, function()
  local count = 0
  for _ in while_loading(pages) do count = count + 1 end
  for _ in pairs(pages) do count = count + 1 end
  assert(count == 52)
end }
