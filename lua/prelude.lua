-- The code that every user's VM starts with: the `user` object, responses, coroutines that let requests through,
-- and the globals of a plan. Called once per VM with
--   host(name)  a function or library made in Rust, or nil
--   facts       id, scenario, host: the first fields of `user`
--   names       the names of the tasks, in the order of their declaration
-- and returns the plan's globals, the function that runs a task, and the weak table of live responses.
-- Kept small: it is loaded for every user. Compiled without line numbers, so `fail` gives errors their location.

local host, facts, names = ...

local error, next, rawget, rawlen, rawset = error, next, rawget, rawlen, rawset
local select, setmetatable, type = select, setmetatable, type
local create, resume, status, yield = coroutine.create, coroutine.resume, coroutine.status, coroutine.yield
local close, running, pcall, xpcall = coroutine.close, coroutine.running, pcall, xpcall
local unpack = table.unpack

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

-- Operations ---------------------------------------------------------------------------------------------
-- A plan's coroutine yields an operation's marker and its arguments; the engine resumes it with the answer,
-- or with nil and a message to raise.

local is_marker = {}
local function marker(name)
  local value = host("op:" .. name)
  is_marker[value] = true
  return value
end

local GET, HEAD, POST, PUT, PATCH = marker("GET"), marker("HEAD"), marker("POST"), marker("PUT"), marker("PATCH")
local DELETE, OPTIONS, REQUEST = marker("DELETE"), marker("OPTIONS"), marker("request")
local FETCH, WAIT, STOP, BATCH = marker("fetch"), marker("wait"), marker("stop"), marker("batch")

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
  __newindex = function(_, key)
    fail("cannot set '" .. tostring(key) .. "' of a response: keep what you need in a local or in user.data")
  end,
}

local function receive(code, slot, failed)
  if not code then fail(slot) end
  local response = setmetatable({ status = code, slot = slot }, response_meta)
  live[slot] = response
  if failed then H.note_line(slot) end
  return response
end

-- Reads a request's options: name, status and title as plain values if there is nothing else, else the table, which
-- is read in Rust. Most requests have no options and yield only what they need, since every value that is passed on
-- costs some 20 ns.
local function simple(options)
  if type(options) ~= "table" then fail("options must be a table, not a " .. type(options)) end
  local name, code, title
  for key, value in next, options do
    if key == "name" and type(value) == "string" then
      name = value
    elseif key == "expect" and type(value) == "table" then
      for k, v in next, value do
        if k == "status" and type(v) == "number" then
          code = v
        elseif k == "title" and type(v) == "string" then
          title = v
        else
          return nil, nil, nil, options
        end
      end
    else
      return nil, nil, nil, options
    end
  end
  return name, code, title
end

-- Creates the method of user that sends such requests, without a body and below with one.
local function sends(op)
  return function(_, path, options, more)
    if more ~= nil then fail("this request has no body: options are the second argument, as in user:get(path, { name = ... })") end
    if options == nil then return receive(yield(op, path)) end
    return receive(yield(op, path, nil, simple(options)))
  end
end

local function sends_body(op)
  return function(_, path, body, options)
    if options == nil then return receive(yield(op, path, body)) end
    return receive(yield(op, path, body, simple(options)))
  end
end

-- A list of responses becomes real when it is first looked at: pages fetch many assets that no plan reads.
local function materialise(list)
  local slot, codes = list.slot, list.codes
  list.slot, list.codes = nil, nil
  for i = 1, #codes do
    list[i] = setmetatable({ status = codes[i], slot = slot + (i - 1 << 32), list = list }, response_meta)
  end
  return list
end

local list_meta = {
  __metatable = false,
  __len = function(list)
    local codes = rawget(list, "codes")
    return codes and #codes or rawlen(list)
  end,
  __index = function(list, key)
    if rawget(list, "codes") then return rawget(materialise(list), key) end
  end,
  __pairs = function(list)
    if rawget(list, "codes") then materialise(list) end
    return next, list
  end,
}

-- `first_failed` is the address of the first failed response, if any; `user:fetch` has one line for all.
local function receive_list(slot, codes, failed)
  if not slot then fail(codes) end
  local list = setmetatable({ slot = slot, codes = codes }, list_meta)
  live[slot] = list
  if failed then H.note_line(slot) end
  return list
end

-- user ---------------------------------------------------------------------------------------------------

local User = facts
User.data = {}

User.get, User.head, User.delete, User.options = sends(GET), sends(HEAD), sends(DELETE), sends(OPTIONS)
User.post, User.put, User.patch = sends_body(POST), sends_body(PUT), sends_body(PATCH)

function User.request(_, options)
  if type(options) ~= "table" then fail("user:request takes a table: { method = \"GET\", path = \"/\", ... }") end
  return receive(yield(REQUEST, options))
end

function User.fetch(_, urls, options)
  return receive_list(yield(FETCH, urls, options))
end

function User.batch(_, requests)
  return receive_list(yield(BATCH, requests))
end

-- A form found on a page, with the plan's fields over the page's own.
function User.submit(_, form, fields, options)
  if type(form) ~= "table" or type(form.fields) ~= "table" then
    local missed = form == nil and H.missed_form() or ""
    fail("user:submit takes a form found with response:form(css)" .. (form == nil and "; this one was not found" or "")
      .. (missed ~= "" and ": " .. missed or ""))
  end
  local merged = {}
  for name, value in next, form.fields do
    merged[name] = value
  end
  for name, value in next, fields or {} do
    merged[name] = value
  end
  local all = {}
  for key, value in next, options or {} do
    all[key] = value
  end
  all[form.method == "GET" and "query" or "form"] = merged
  all.method, all.path = form.method, form.action
  return receive(yield(REQUEST, all))
end

function User.wait(_, from, to)
  local _, problem = yield(WAIT, from, to)
  if problem then fail(problem) end
end

local function end_transaction(name, begin, ok, ...)
  H.end_transaction(name, begin, ok, (...))
  if ok then return ... end
  error(..., 0)
end

function User.transaction(self, name, fn)
  if type(name) ~= "string" or type(fn) ~= "function" then
    fail("user:transaction takes a name and a function: user:transaction(\"buy\", function() ... end)")
  end
  return end_transaction(name, H.clock(), pcall(fn, self))
end

function User.stop() yield(STOP) end

function User.set_host(_, url) User.host = H.set_host(url) end

function User.log(_, text) H.log("info", tostring(text)) end

-- Other members are made in Rust when they are first asked for.
setmetatable(User, {
  __index = function(_, key)
    local value = host("user:" .. tostring(key))
    if value == nil then fail(H.unknown_user_field(tostring(key))) end
    User[key] = value
    return value
  end,
})

local user = setmetatable({}, {
  __name = "user",
  __metatable = false,
  __index = User,
  __newindex = function(_, key)
    fail("cannot set '" .. tostring(key) .. "' of user: keep what belongs to a user in user.data." .. tostring(key))
  end,
})

-- Coroutines of the plan's own: an operation yielded inside one goes on to the engine --------------------------

local function pass_on(co, ok, first, ...)
  if ok and is_marker[first] and status(co) == "suspended" then return pass_on(co, resume(co, yield(first, ...))) end
  return ok, first, ...
end

-- An error that ends a task for good is raised again by every protected call (see src/lua/limits).
-- An error raised in Rust reaches the plan as text with its line, like any error of Lua's.
local function as_text(problem)
  if type(problem) == "userdata" then return H.error_text(problem) end
  return problem
end

local function checked(ok, ...)
  if ok then return true, ... end
  H.reraise()
  return false, as_text((...))
end


local function or_raise(ok, problem, ...)
  if ok then return problem, ... end
  error(problem, 0)
end

-- The coroutines that the plan made: only they may yield to it, and only they are resumed and closed by it. The
-- others are lgoose's.
local own = setmetatable({}, { __mode = "k" })

local function new_coroutine(fn)
  local co = create(fn)
  H.watch(co)
  own[co] = true
  return co
end

local function of_plan(co, call)
  if type(co) == "thread" and not own[co] then fail("coroutine." .. call .. ": this is not a coroutine of the plan's own") end
end

local function resume_in_plan(co, ...)
  of_plan(co, "resume")
  return checked(pass_on(co, resume(co, ...)))
end

local coroutines = {
  resume = resume_in_plan,
  wrap = function(fn)
    local co = new_coroutine(fn)
    return function(...) return or_raise(resume_in_plan(co, ...)) end
  end,
  create = new_coroutine,
  status = status,
  yield = function(...)
    if not own[running()] then fail("coroutine.yield outside of a coroutine of the plan's own") end
    return yield(...)
  end,
  close = function(co)
    H.reraise()
    of_plan(co, "close")
    return checked(close(co))
  end,
  isyieldable = coroutine.isyieldable,
  running = running,
}

-- Globals ------------------------------------------------------------------------------------------------

-- A library as a plan sees it: it can be read and called, not changed.
local function read_only(name, library)
  return setmetatable({}, {
    __metatable = false,
    __index = function(_, key)
      local value = library[key]
      if value == nil then fail(H.unknown_member(name, tostring(key), library)) end
      return value
    end,
    __newindex = function(_, key) fail("cannot set '" .. name .. "." .. tostring(key) .. "': libraries are read-only") end,
    __call = library.__call,
  })
end

local tasks, handlers = {}, {}

-- The handler runs after the call has been left: inside it, no hook could end it.
local function handled(handler, ok, ...)
  if ok then return true, ... end
  H.reraise()
  local _, result = checked(pcall(handler, as_text((...))))
  return false, result
end

-- While the file is loaded, declarations are collected in their order; their fields were checked when the
-- plan was loaded for the first time, and they must be the same: tasks are known by their position.
local globals = setmetatable({
  task = function(spec)
    local index, name = #tasks + 1, #spec > 1 and spec[1] or ""
    if name ~= names[index] then H.same_task(index, name) end
    tasks[index] = spec[#spec]
    return spec
  end,
  scenario = function(spec) return spec end,
  plan = function() end,
  on = function(event, handler) handlers[event] = handler end,
  coroutine = read_only("coroutine", coroutines),
  pcall = function(...) return checked(pcall(...)) end,
  xpcall = function(fn, handler, ...) return handled(handler, pcall(fn, ...)) end,
}, {
  __index = function(self, name)
    local value = host("global:" .. tostring(name))
    if value == nil then fail(H.undeclared(tostring(name))) end
    if type(value) == "table" and name ~= "shared" then value = read_only(name, value) end
    rawset(self, name, value)
    return value
  end,
})

local env = setmetatable({}, {
  __metatable = false,
  __index = globals,
  __newindex = function(_, name)
    fail("global '" .. tostring(name) .. "' is not declared; write 'local " .. tostring(name) .. "' for a variable of this file")
  end,
})

globals._G = env

-- Ends the loading of the file, which ran as a whole unless the user found no row left in its data: from here on
-- there is nothing to declare.
local function seal(whole)
  if whole and #tasks ~= #names then H.same_task(#tasks + 1) end
  globals.pairs = nil
  for _, name in next, { "task", "scenario", "plan", "on" } do
    globals[name] = function() fail("'" .. name .. "' belongs to the top level of the file, not inside a task") end
  end
end

-- A call that is not protected would die inside the hook that ends it, and what it has to close would be closed with
-- hooks off.
local function finish(ok, problem)
  if ok then return problem end
  if type(problem) == "table" then
    -- As text here: whoever receives it would call its '__tostring' outside of the task.
    local _, text = pcall(tostring, problem)
    problem = text
  end
  error(problem, 0)
end

local function with_stack(problem)
  if type(problem) == "string" then return H.with_stack(problem) end
  return problem
end

local function run(index, iteration)
  User.task, User.iteration = names[index], iteration
  finish(xpcall(tasks[index], with_stack, user))
end

-- The value that test_start returns is available to every user as `shared`.
local function handle(event)
  User.task, User.iteration = event, 1
  local value = finish(xpcall(handlers[event], with_stack, user))
  if event == "test_start" and value ~= nil then H.share(value) end
end

return { handle = handle, env = env, globals = globals, seal = seal, run = run, live = live, raise = fail }
