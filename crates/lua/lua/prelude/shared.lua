-- The waiting functions of lgoose.shared: queue:take, map:get_or, and all calls to another process. A part of the prelude.

local yield, here, TAKE, AWAIT, try_take, find_or_claim, call, reply, nearby = ...
local error = error

-- Returns the engine's value, or raises its message.
local function received(value, problem)
  if problem then error(here() .. problem, 0) end
  return value
end

-- Surplus arguments go to Rust, which refuses them.
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

local function ask(shared, action, ...)
  local pending, got = call(shared, action, ...)
  received(yield(AWAIT, pending))
  return reply(got)
end

-- Of each process, one user at most makes a value; the first value stays.
local function get_or_of_run(map, key, make, expires, ...)
  while true do
    local value = ask(map, "get", key)
    if value ~= nil then return value end
    local _, claim, making = find_or_claim(nearby(map), key, make, expires, ...)
    if claim then
      local claimed <close> = claim
      value = ask(map, "get", key)
      if value == nil then
        value = make(key)
        if value ~= nil then return ask(map, "get_or", key, value, expires) end
      end
      return value
    end
    received(yield(AWAIT, making))
  end
end

local function asking(action)
  return function(shared, ...) return ask(shared, action, ...) end
end

local of_run = {
  counter = { incr = asking "incr", get = asking "get" },
  queue = { put = asking "put", take = asking "take", size = asking "size" },
  map = {
    put = asking "put",
    get = asking "get",
    get_or = get_or_of_run,
    remove = asking "remove",
    size = asking "size",
  },
}

return take, get_or, of_run
