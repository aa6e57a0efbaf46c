-- Actions of a user beside requests: user:transaction, user:stop, user:exit_iteration, user:set_host and user:log. A part of the prelude.

local host, H, fail, User = ...

local error, rawget, type = error, rawget, type
local yield = yield
if not rawget(H, "protected") then host("nesting")(H, fail, host("coroutine")) end
local attempt = H.attempt
local STOP, EXIT_ITERATION = host("op:stop"), host("op:exit_iteration")

local function end_transaction(name, begin, ok, ...)
  H.end_transaction(name, begin, ok, (...))
  if ok then return ... end
  error(..., 0)
end

local function end_tagged(name, begin, ...)
  H.end_tagged()
  return end_transaction(name, begin, ...)
end

local function no_more(more)
  if more ~= nil then fail(H.surplus(more)) end
end

function User.transaction(self, name, options, fn, more)
  local tagged = type(options) == "table"
  if not tagged and fn ~= nil and type(options) == "function" then no_more(fn) end
  no_more(more)
  if not tagged and fn == nil then fn = options end
  if type(name) ~= "string" or type(fn) ~= "function" then
    fail("user:transaction takes a name and a function: user:transaction(\"buy\", function() ... end)"
      .. H.nil_argument(name, options, fn))
  end
  if not tagged then return end_transaction(name, H.clock(), attempt(fn, self)) end
  -- From now on, coroutines look after the transactions that they are in (calls.lua).
  H.tagged = true
  local problem = H.begin_tagged(options)
  if problem then fail(problem) end
  return end_tagged(name, H.clock(), attempt(fn, self))
end

function User.stop(_, more)
  no_more(more)
  yield(STOP)
end

function User.exit_iteration(_, more)
  no_more(more)
  yield(EXIT_ITERATION)
end

function User.set_host(_, url, more)
  no_more(more)
  User.host = H.set_host(url)
end

function User.log(_, text, more)
  no_more(more)
  H.log("info", text)
end
