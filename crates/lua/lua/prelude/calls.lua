-- Calls that plans protect, and coroutines of their own: pcall, xpcall and coroutine. A part of the prelude.

local host, H, fail, globals = ...

local coroutine = host("coroutine")
local create, resume, status, yield = coroutine.create, coroutine.resume, coroutine.status, coroutine.yield
local close, running = coroutine.close, coroutine.running
local error, pcall, rawget, setmetatable, type = error, pcall, rawget, setmetatable, type

if not rawget(H, "protected") then host("nesting")(H, fail, host("coroutine")) end
local protected = H.protected

-- The markers that operations begin with, as the keys of a table.
local is_marker = host("op_markers")

-- Coroutines of the plan's own: an operation yielded inside one goes on to the engine --------------------------

local function pass_on(co, ok, first, ...)
  if ok and is_marker[first] and status(co) == "suspended" then return pass_on(co, H.within(resume, co, yield(first, ...))) end
  return ok, first, ...
end

-- An error that ends a task for good is raised again by every protected call (see crates/lua/src/limits).
-- An error raised in Rust reaches the plan as text with its line, like any error of Lua's.
local function as_text(problem)
  if type(problem) == "userdata" then return H.error_text(problem) end
  return problem
end

-- Lua's own error costs nothing for the depth of the calls, unlike one that is raised in Rust: thousands of protected calls
-- may be left one after another.
local function go_on(ended)
  if ended then error(ended, 0) end
end

local function checked(ok, ...)
  if ok then return true, ... end
  go_on(H.catch())
  return false, as_text((...))
end

local function or_raise(co, ok, problem, ...)
  if ok then return problem, ... end
  if H.has_filled_memory(co) then
    H.note_full()
    error(problem, 0)
  end
  -- As the plan's own: Lua takes a text for one of its own messages.
  host("global:error")(problem, 0)
end

-- The coroutines that the plan made: only they may yield to it, and only they are resumed and closed by it. The
-- others are lgoose's.
local own = setmetatable({}, { __mode = "k" })

local function new_coroutine(fn)
  local co = create(fn)
  own[co] = true
  return co
end

local function of_plan(co, call)
  if type(co) ~= "thread" or not own[co] then fail("coroutine." .. call .. ": this is not a coroutine of the plan's own") end
end

-- Transactions with tags belong to the coroutine that has begun them: a coroutine that waits in one tags no request of another. Those
-- of a coroutine that waits are kept here, and end with it.
local suspended = setmetatable({}, { __mode = "k" })
H.tagged = rawget(H, "tagged") or false

local function left(co, depth, ...)
  if H.tagged then suspended[co] = H.leave_tagged(depth) end
  return ...
end

local function resume_in_plan(co, ...)
  of_plan(co, "resume")
  local depth = 0
  if H.tagged then
    depth = H.enter_tagged(suspended[co])
    suspended[co] = nil
  end
  return checked(left(co, depth, pass_on(co, H.within(resume, co, ...))))
end

local coroutines = {
  resume = resume_in_plan,
  wrap = function(fn)
    local co = new_coroutine(fn)
    return function(...) return or_raise(co, resume_in_plan(co, ...)) end
  end,
  create = new_coroutine,
  status = status,
  yield = function(...)
    if not own[running()] then fail("coroutine.yield outside of a coroutine of the plan's own") end
    return yield(...)
  end,
  close = function(co)
    go_on(H.ended())
    of_plan(co, "close")
    return checked(H.within(close, co))
  end,
  isyieldable = coroutine.isyieldable,
  running = running,
}

-- The handler runs after the call has been left: inside it, no hook could end it.
local function handled(handler, ok, ...)
  if ok then return true, ... end
  go_on(H.catch())
  local _, result = checked(protected(pcall, handler, as_text((...))))
  return false, result
end

globals.coroutine = H.read_only("coroutine", coroutines)
globals.pcall = function(...) return checked(protected(pcall, ...)) end
globals.xpcall = function(fn, handler, ...) return handled(handler, protected(pcall, fn, ...)) end
