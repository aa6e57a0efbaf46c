-- Protected calls within one another. Each costs Lua a level of the stack of C, of which it has 200, but the count begins anew
-- after each wait; and to leave one that failed takes the time of all that are around it. A part of the prelude.

local H, fail, coroutine = ...

local MOST <const> = 200

local running, setmetatable, xpcall = coroutine.running, setmetatable, xpcall

-- The depth of protected calls of each coroutine.
local depths = setmetatable({}, { __mode = "k" })

local function leave(co, ...)
  depths[co] = depths[co] - 1
  return ...
end

function H.protected(call, ...)
  local co = running()
  local depth = (depths[co] or 0) + 1
  if depth > MOST then fail("more than " .. MOST .. " calls of pcall, xpcall and user:transaction are within one another") end
  depths[co] = depth
  return leave(co, call(...))
end

-- Lua's own error that its memory is full is the only one that no handler sees.
local handled = false

local function handle(problem)
  handled = true
  return problem
end

local function seen(ok, ...)
  if not ok then
    if not handled then H.note_full() end
    handled = false
  end
  return ok, ...
end

-- Calls a function as `pcall` does, for code that raises its error again.
function H.attempt(fn, ...) return seen(H.protected(xpcall, fn, handle, ...)) end
