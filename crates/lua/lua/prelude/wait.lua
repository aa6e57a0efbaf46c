-- user:wait. A part of the prelude.

local H, fail, _, operation = ...
local yield = yield

return function(_, from, to, more)
  if more ~= nil then fail(H.surplus(more)) end
  local _, problem = yield(operation, from, to)
  if problem then fail(problem) end
end
