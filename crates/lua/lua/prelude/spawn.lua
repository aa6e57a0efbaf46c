-- user:spawn, which runs a function beside the task. A part of the prelude.

local host, H, fail, User = ...

local error, next, rawget, select, setmetatable, tostring, type = error, next, rawget, select, setmetatable, tostring, type
local yield = yield
if not rawget(H, "protected") then host("nesting")(H, fail, host("coroutine")) end
local attempt = H.attempt
local SPAWN, JOIN, CANCEL = host("op:spawn"), host("op:join"), host("op:cancel")

-- The number of each job, the return values of its function, and its error if that is a table.
local numbers, results, errors = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

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
    -- As the job has raised it, a text with its line.
    if problem then error(errors[job] or problem, 0) end
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

local function over(job, ok, ...)
  if ok then
    results[job] = pack(...)
  else
    local raised = ...
    if type(raised) == "table" then errors[job] = raised end
    error(raised, 0)
  end
end

-- Returns how long the job lasts if that is all that a table says which is the only argument.
local function life_of(options, ...)
  if select("#", ...) > 0 or type(options) ~= "table" then return end
  local life = rawget(options, "life")
  if life == nil or next(options, next(options)) ~= nil then return end
  if life ~= "user" and life ~= "task" then fail("option 'life' of user:spawn is \"user\" or \"task\"") end
  return life
end

function User.spawn(_, fn, ...)
  if type(fn) ~= "function" then fail("user:spawn takes a function: user:spawn(function() ... end)" .. H.nil_argument(fn)) end
  local arguments, job = pack(...), setmetatable({}, job_meta)
  local life = life_of(...)
  if life then arguments = pack() end
  local number, problem = yield(SPAWN, function() over(job, attempt(fn, unpack(arguments, 1))) end, life == "user" and life or nil)
  if problem then fail(problem) end
  numbers[job] = number
  return job
end
