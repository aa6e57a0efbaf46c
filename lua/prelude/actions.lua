-- What a user does beside requests: user:transaction, user:stop, user:exit_iteration, user:set_host and user:log. A part of the prelude.

local host, H, fail, User = ...

local error, pcall, type = error, pcall, type
local yield = coroutine.yield
local STOP, EXIT_ITERATION = host("op:stop"), host("op:exit_iteration")

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

function User.exit_iteration() yield(EXIT_ITERATION) end

function User.set_host(_, url) User.host = H.set_host(url) end

function User.log(_, text) H.log("info", text) end
