---What the plans of this folder assert with. A plan that asserts in vain raises, and its task counts as failed.
local test = {}

---@param got any
---@param wanted any
---@param what string
function test.same(got, wanted, what)
  if got ~= wanted then error(what .. ": " .. tostring(got) .. ", not " .. tostring(wanted), 2) end
end

---Calls a function that must raise a message with this part.
---@param part string
---@param fn function
---@param ... any # its arguments
function test.raises(part, fn, ...)
  local ok, problem = pcall(fn, ...)
  if ok then error("no error with '" .. part .. "'", 2) end
  if not tostring(problem):find(part, 1, true) then error("'" .. part .. "' is missing in: " .. tostring(problem), 2) end
end

return test
