-- What waits in lgoose.shared: queue:take and map:get_or. A part of the prelude.

local yield, here, TAKE, AWAIT, try_take, find_or_claim = ...
local error = error

-- Gives what the engine answers: the value, or nil and a message to raise.
local function received(value, problem)
  if problem then error(here() .. problem, 0) end
  return value
end

-- What is passed beyond the arguments goes to Rust, which refuses it.
local function take(queue, wait, ...)
  local value = try_take(queue, ...)
  if value ~= nil or wait == nil then return value end
  return received(yield(TAKE, queue, wait))
end

-- A claim that is left by an error is closed with it, and another user makes the value then.
local function get_or(map, key, make, expires, ...)
  while true do
    local value, claim, making = find_or_claim(map, key, make, expires, ...)
    if claim then
      local claimed <close> = claim
      local made = make(key)
      if made ~= nil then claimed:keep(made) end
      return made
    end
    if not making then return value end
    received(yield(AWAIT, making))
  end
end

return take, get_or
