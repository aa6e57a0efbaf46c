-- user:record. A part of the prelude.

local H, fail, _, operation = ...
local yield = yield

return function(_, row, more)
  if more ~= nil then fail(H.surplus(more)) end
  if row == nil then fail("user:record takes a table: user:record { name = \"delivered\", time = seconds }" .. H.nil_argument(row)) end
  local _, problem = yield(operation, row)
  if problem then fail(problem) end
end
