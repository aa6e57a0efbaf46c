-- The code that every user's VM starts with: the `user` object, responses, and the globals of a plan. Called once per
-- VM with
--   host(name)  a function or library made in Rust, or nil; for a member of user, also its kind
--   facts       id, scenario, host: the first fields of `user`
-- and returns the plan's globals, the function that runs a task, and the weak table of live responses.
-- Kept small, since it is loaded for every user: functions that few plans use are in parts beside it (lua/prelude/) or
-- made at their first use, and longer texts are in Rust. Compiled without line numbers, so `fail` gives errors their
-- location.

local host, facts = ...

local error, next, pcall, rawget, rawset = error, next, pcall, rawget, rawset
local setmetatable, tostring, type, xpcall = setmetatable, tostring, type, xpcall
local yield = coroutine.yield

-- Functions from Rust, fetched when first used.
local H = setmetatable({}, {
  __index = function(self, name)
    local value = host(name)
    self[name] = value
    return value
  end,
})

-- Raises with the line of the plan that called into lgoose.
local function fail(message)
  error(H.here() .. message, 0)
end

-- Raises the message for setting a field of a read-only value.
local function refuses(owner)
  return function(_, key) fail(H.refused(owner, tostring(key))) end
end

-- Operations ---------------------------------------------------------------------------------------------
-- A plan's coroutine yields an operation's marker and its arguments; the engine resumes it with the result,
-- or with nil and a message to raise.

local live = setmetatable({}, { __mode = "v" })

-- Response methods are fetched when first used; fields are read in Rust and kept.
local methods = setmetatable({}, {
  __index = function(self, name)
    local method = host("response:" .. name)
    self[name] = method or false
    return method
  end,
})

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
  __newindex = refuses("response"),
}

local function receive(code, slot, failed)
  if failed then
    -- A response that is read while it arrives.
    if failed ~= true then
      H.note_stream(failed)
      if failed.status == 0 then yield(host("op:end_stream"), failed) end
      return failed
    end
    H.note_line()
  end
  if not code then fail(slot) end
  local response = setmetatable({ status = code, slot = slot }, response_meta)
  live[slot] = response
  return response
end

-- user ---------------------------------------------------------------------------------------------------

local User = facts
User.data = {}

-- Members are made at their first use, by kind: from the operation's marker, a function that sends such requests
-- without a body or with one, or that waits; from a part of the prelude, which sets several members; or a value from
-- Rust as it is.
local function member(value, kind)
  if kind == "send" then
    return function(_, path, options, more, another)
      if another ~= nil then fail(H.surplus(another)) end
      if more ~= nil then fail(H.refused("body")) end
      return receive(yield(value, path, nil, options))
    end
  elseif kind == "send body" then
    return function(_, path, body, options, more)
      if more ~= nil then fail(H.surplus(more)) end
      return receive(yield(value, path, body, options))
    end
  elseif kind == "wait" then
    return function(_, from, to, more)
      if more ~= nil then fail(H.surplus(more)) end
      local _, problem = yield(value, from, to)
      if problem then fail(problem) end
    end
  end
  return value
end

-- The number of the running task, or the name of the event that runs.
local current

setmetatable(User, {
  __index = function(_, key)
    if key == "task" then return H.task_name(current) end
    local value, kind = host("user:" .. tostring(key))
    if value == nil then fail(H.unknown_user_field(tostring(key))) end
    if kind == "part" then
      value(host, H, fail, User, receive, response_meta, live)
      return rawget(User, key)
    end
    value = member(value, kind)
    User[key] = value
    return value
  end,
})

local user = setmetatable({}, {
  __name = "user",
  __metatable = false,
  __index = User,
  __newindex = refuses("user"),
})

-- Globals ------------------------------------------------------------------------------------------------

-- A library as a plan sees it: it can be read and called, not changed.
local view
local function read_only(name, library)
  view = view or host("view")(H, fail, refuses)
  return view(name, library)
end

-- The tasks by their position, and the functions passed to `on` by the name of the event.
local tasks = {}

-- While the file is loaded, declarations are collected in their order; their fields were checked when the
-- plan was loaded for the first time, and they must be the same: tasks are known by their position.
local globals = setmetatable({
  task = function(spec)
    local index = #tasks + 1
    H.same_task(index, #spec > 1 and spec[1] or "")
    tasks[index] = spec[#spec]
    return spec
  end,
  scenario = function(spec) return spec end,
  plan = function() end,
  on = function(event, handler) tasks[event] = handler end,
}, {
  __index = function(self, name)
    local value, kind = host("global:" .. tostring(name))
    if value == nil then fail(H.undeclared(tostring(name))) end
    if kind == "part" then
      value(host, H, fail, self, read_only)
      return rawget(self, name)
    end
    if type(value) == "table" and name ~= "shared" then value = read_only(name, value) end
    rawset(self, name, value)
    return value
  end,
})

local env = setmetatable({}, {
  __metatable = false,
  __index = globals,
  __newindex = refuses("_G"),
})

globals._G = env

-- Ends the loading of the file, which ran as a whole unless the user found no row left in its data: from here on
-- there is nothing to declare.
local function seal(whole)
  if whole then H.same_task(#tasks + 1) end
  globals.pairs, globals.task, globals.scenario, globals.plan, globals.on = nil, nil, nil, nil, nil
end

-- A call that is not protected would die inside the hook that ends it, and the variables that it has to close would be closed
-- with hooks off.
--
-- Lua's own error that its memory is full is the only one that passes the handler of a protected call by.
local handled = false
local function finish(ok, problem)
  if ok then return problem end
  if not handled then H.note_full() end
  handled = false
  if type(problem) == "table" then
    -- As text here: whoever receives it would call its '__tostring' outside of the task.
    local _, text = pcall(tostring, problem)
    problem = #text > 1 << 20 and text:sub(1, 1 << 20) or text
  end
  error(problem, 0)
end

local function with_stack(problem)
  handled = true
  if type(problem) == "string" then return H.with_stack(problem) end
  return problem
end

-- Runs a task, or a job, which is its function without an iteration. The value that test_start returns is available to every user
-- as `shared`.
local function run(index, iteration)
  if not iteration then return finish(xpcall(index, with_stack)) end
  current, User.iteration = index, iteration
  local value = finish(xpcall(tasks[index], with_stack, user))
  if index == "test_start" and value ~= nil then H.share(value) end
end

return { env = env, globals = globals, seal = seal, run = run, live = live, handlers = tasks }
