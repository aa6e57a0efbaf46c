-- The code that every user's VM starts with: the `user` object, responses, and the globals of a plan. Called once per
-- VM with tables whose fields Rust makes when they are first used,
--   H        functions of lgoose's own
--   methods  those of responses; false for other names
--   User     the members of `user`; id, scenario, host and data are there
--   globals  the globals of a plan
-- and with refuse(table, key), which raises the message for setting a field of a read-only value.
-- Kept small, since it is loaded for every user: functions that not every plan uses are in parts beside it (lua/prelude/),
-- what takes no part in a request is in Rust. Compiled without line numbers, so `fail` gives errors their location.

local H, methods, User, globals, refuse = ...

local error, rawset, setmetatable, xpcall = error, rawset, setmetatable, xpcall

-- Raises with the line of the plan that called into lgoose.
local function fail(message)
  error(H.here() .. message, 0)
end

-- Responses ----------------------------------------------------------------------------------------------
-- A plan's coroutine yields an operation's marker and its arguments; the engine resumes it with the result,
-- or with nil and a message to raise.

local live = setmetatable({}, { __mode = "v" })

local response_meta = {
  __name = "response",
  __metatable = false,
  __index = function(response, key)
    local method = methods[key]
    if method then return method end
    local value = H.response_field(response.slot, key)
    -- The verdict can still change.
    if key ~= "ok" and key ~= "error" then rawset(response, key, value) end
    return value
  end,
  __newindex = refuse,
}

local function receive(code, slot, failed)
  if failed then
    -- A response that is read while it arrives.
    if failed ~= true then return H.opened(failed) end
    H.note_line()
  end
  if not code then fail(slot) end
  local response = setmetatable({ status = code, slot = slot }, response_meta)
  live[slot] = response
  return response
end

local user = setmetatable({}, { __name = "user", __metatable = false, __index = User, __newindex = refuse })

-- Globals ------------------------------------------------------------------------------------------------

local env = setmetatable({}, { __metatable = false, __index = globals, __newindex = refuse })

globals._G = env

-- The tasks by their position, and the functions passed to `on` by the name of the event.
local tasks = {}

-- While the file is loaded, declarations are collected in their order; their fields were checked when the
-- plan was loaded for the first time, and they must be the same: tasks are known by their position.
function globals.task(spec)
  local index = #tasks + 1
  H.same_task(index, #spec > 1 and spec[1] or "")
  tasks[index] = spec[#spec]
  return spec
end

function globals.scenario(spec) return spec end

function globals.plan() end

function globals.on(event, handler) tasks[event] = handler end

-- Ends the loading of the file, which ran as a whole unless the user found no row left in its data: from here on
-- there is nothing to declare.
local function seal(whole)
  if whole then H.same_task(#tasks + 1) end
  H.same_task, globals.pairs = nil, nil
  globals.task, globals.scenario, globals.plan, globals.on = nil, nil, nil, nil
end

-- A call that is not protected would die inside the hook that ends it, and the variables that it has to close would be closed
-- with hooks off.
local function finish(ok, value)
  if ok then return value end
  error(H.reason(value), 0)
end

-- Runs a task, or a job, which is its function without an iteration. The value that test_start returns is available to every user
-- as `shared`.
local function run(index, iteration)
  if not iteration then return finish(xpcall(index, H.with_stack)) end
  User.iteration = iteration
  local value = finish(xpcall(tasks[index], H.with_stack, user))
  if index == "test_start" and value ~= nil then H.share(value) end
end

return env, seal, run, live, tasks, fail, receive, response_meta
