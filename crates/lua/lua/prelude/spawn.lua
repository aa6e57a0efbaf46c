-- user:spawn, which runs a function beside the task. A part of the prelude.

local host, H, fail, User = ...

local error, select, setmetatable, tostring, type = error, select, setmetatable, tostring, type
local yield = yield
local SPAWN, JOIN, CANCEL = host("op:spawn"), host("op:join"), host("op:cancel")

-- The number of each job, and the return values of its function.
local numbers, results = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

local function pack(...) return { n = select("#", ...), ... } end

local function unpack(values, place)
  if place == values.n then return values[place] end
  if place < values.n then return values[place], unpack(values, place + 1) end
end

local function number_of(job, call)
  return numbers[job] or fail("job:" .. call .. " is called with a colon")
end

local methods = {
  join = function(job)
    local _, problem = yield(JOIN, number_of(job, "join"))
    -- As the job has raised it, with its line.
    if problem then error(problem, 0) end
    local returned = results[job]
    if returned then return unpack(returned, 1) end
  end,
  cancel = function(job) yield(CANCEL, number_of(job, "cancel")) end,
}

local job_meta = {
  __name = "job",
  __metatable = false,
  __index = function(_, name) return methods[name] or fail(H.unknown_member("job", name, methods)) end,
  __newindex = function(_, name) fail(H.refused("job", tostring(name))) end,
}

function User.spawn(_, fn, ...)
  if type(fn) ~= "function" then fail("user:spawn takes a function: user:spawn(function() ... end)" .. H.nil_argument(fn)) end
  local arguments, job = pack(...), setmetatable({}, job_meta)
  local number, problem = yield(SPAWN, function() results[job] = pack(fn(unpack(arguments, 1))) end)
  if problem then fail(problem) end
  numbers[job] = number
  return job
end
