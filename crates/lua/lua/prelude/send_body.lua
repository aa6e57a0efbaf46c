-- A method that sends a request with a body. A part of the prelude.

local H, fail, receive, operation = ...
local yield = yield

return function(_, path, body, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  return receive(yield(operation, path, body, options))
end
