-- user:timed, which counts a function of the plan as a request. A part of the prelude.

local host, H, fail, User = ...

local error, rawget, type = error, rawget, type
local yield = yield
if not rawget(H, "protected") then host("nesting")(H, fail, host("coroutine")) end
local attempt = H.attempt
local BEGIN, END = host("op:begin_timed"), host("op:end_timed")

local function over(number, ok, first, second, ...)
  if not ok then
    -- The error itself is the task's, with its line.
    yield(END, number, false, "the plan raised an error")
    error(first, 0)
  end
  if first then
    yield(END, number, true)
  else
    yield(END, number, false, type(second) == "string" and second or nil)
  end
  return first, second, ...
end

function User.timed(self, name, fn, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  if type(name) ~= "string" or type(fn) ~= "function" then
    fail("user:timed takes a name and a function: user:timed(\"greeting\", function() ... end)"
      .. H.nil_argument(name, fn))
  end
  local number, problem = yield(BEGIN, name, options)
  if not number then fail(problem) end
  return over(number, attempt(fn, self))
end
