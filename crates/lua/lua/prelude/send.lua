-- A method that sends a request without a body. A part of the prelude.

local H, fail, receive, operation = ...
local yield = yield

return function(_, path, options, more, another)
  if another ~= nil then fail(H.surplus(another)) end
  if more ~= nil then fail(H.refused("body")) end
  return receive(yield(operation, path, nil, options))
end
