-- Where a plan can do without end what is over at once: in every kind of task, beside them, in every load, and wherever errors
-- are raised. `scenario` returns the user that does so; it calls `begins` when it is about to.

local function timed(user) user:timed("timed", function() return 1 end) end

local function without_end(user)
  while true do timed(user) end
end

-- A user with these tasks, in iterations without end, and more fields of its scenario.
local function tasks(specs, more)
  return {
    scenario = function(begins)
      local fields = { "alone", task { "begin", on_start = true, begins } }
      for name, value in pairs(more or {}) do fields[name] = value end
      if not fields.rate and not fields.stages then
        fields.users, fields.hatch_rate = fields.users or 1, 1000
      end
      for n, spec in ipairs(specs) do fields[n + 2] = task(spec) end
      return fields
    end,
  }
end

-- A user whose only task is this one.
local function iterations(run, more) return tasks({ { "alone", run } }, more) end

-- A user whose only task is this one, which does not come to its end.
local function in_a_task(run, options)
  return {
    scenario = function(begins)
      local spec = options or {}
      spec[1], spec[2] = "alone", function(user)
        begins()
        run(user)
      end
      return { "alone", users = 1, hatch_rate = 1000, task(spec) }
    end,
  }
end

-- A user with this load.
local function at(load, run) return iterations(run or timed, load) end

local function repeated(run)
  return in_a_task(function(user)
    while true do run(user) end
  end)
end

local function caught(run)
  return repeated(function(user) pcall(run, user) end)
end

local function chain(user)
  local function link() user:spawn(link) end
  link()
end

local function tree(user)
  local function branch()
    pcall(user.spawn, user, branch)
    pcall(user.spawn, user, branch)
  end
  branch()
end

-- So many jobs that wait for each other in a circle.
local function circle(user, count)
  local jobs = {}
  for n = 1, count do
    jobs[n] = user:spawn(function()
      user:wait(0)
      return jobs[n % count + 1]:join()
    end)
  end
  return pcall(jobs[1].join, jobs[1])
end

local function in_a_coroutine(run)
  return function(user)
    local resume = coroutine.wrap(function()
      while true do
        run(user)
        coroutine.yield()
      end
    end)
    while true do resume() end
  end
end

local places = {
  -- tasks
  ["on_start"] = in_a_task(without_end, { on_start = true }),
  ["on_stop"] = {
    scenario = function(begins)
      return { "alone", users = 1, hatch_rate = 1000,
        task { "begin", begins, wait = 0.001 },
        task { "alone", on_stop = true, without_end },
      }
    end,
  },
  ["on_stop of a user that stops"] = {
    scenario = function(begins)
      return { "alone", users = 1, hatch_rate = 1000,
        task { "begin", function(user)
          begins()
          user:stop()
        end },
        task { "alone", on_stop = true, without_end },
      }
    end,
  },
  ["a task"] = in_a_task(without_end),
  ["iterations"] = iterations(timed),
  ["iterations without an operation"] = iterations(function() end),
  ["a sequence"] = tasks { { "one", sequence = 1, timed }, { "two", sequence = 2, timed } },
  ["tasks by weight"] = tasks({ { "one", weight = 3, timed }, { "two", function() end } }, { order = "random" }),
  ["tasks in turn"] = tasks({ { "one", timed }, { "two", timed } }, { order = "round-robin" }),
  ["tasks one after another"] = tasks({ { "one", timed }, { "two", timed } }, { order = "serial" }),
  ["iterations that are left"] = iterations(function(user) user:exit_iteration() end),
  ["iterations that one of many tasks leaves"] = tasks { { "one", function(user) user:exit_iteration() end }, { "two", timed } },
  ["a transaction"] = repeated(function(user)
    user:transaction("outer", function() timed(user) end)
  end),
  ["a transaction without an end"] = in_a_task(function(user)
    user:transaction("outer", function() without_end(user) end)
  end),
  ["a coroutine"] = in_a_task(in_a_coroutine(timed)),
  ["a coroutine within another"] = in_a_task(in_a_coroutine(function(user) coroutine.wrap(timed)(user) end)),
  ["a timed function that waits for nothing"] = repeated(function(user)
    user:timed("outer", function() user:wait(0) end)
  end),
  ["retry"] = repeated(function(user)
    user:retry { function() return user:get "http://127.0.0.1:0/" end, times = 3 }
  end),

  -- pauses
  ["wait"] = repeated(function(user) user:wait(0) end),
  ["a pause of nothing after each task"] = iterations(timed, { wait = 0 }),
  ["a pause between nothing and nothing"] = iterations(timed, { wait = { 0, 0 } }),
  ["a pace of nothing"] = iterations(timed, { wait = wait.pacing(0) }),
  ["a tick of next to nothing"] = iterations(timed, { wait = wait.tick(1e-9) }),
  ["a throughput without a limit"] = iterations(timed, { wait = wait.throughput(1e9) }),
  ["ready"] = repeated(function() run.ready() end),

  -- errors
  ["an error"] = iterations(function() error "wrong" end),
  ["an error that is a table"] = iterations(function() error {} end),
  ["an error in a timed function"] = iterations(function(user)
    user:timed("timed", function() return user:gett "/" end)
  end),
  ["an error in a transaction"] = iterations(function(user)
    user:transaction("transaction", function() error "wrong" end)
  end),
  ["an error in a job"] = iterations(function(user)
    user:spawn(function() error "wrong" end)
  end),
  ["an error in a job that is joined"] = iterations(function(user)
    user:spawn(function() error "wrong" end):join()
  end),
  ["an error in a retry"] = iterations(function(user)
    user:retry { function() error "wrong" end }
  end),
  ["an error in a coroutine"] = iterations(function(user)
    coroutine.wrap(function()
      timed(user)
      error "wrong"
    end)()
  end),
  ["an error that is caught"] = caught(function() error "wrong" end),
  ["an error after an operation"] = caught(function(user)
    timed(user)
    error "wrong"
  end),
  ["an error while something is closed"] = iterations(function(user)
    local _ <close> = setmetatable({}, { __close = function() error "wrong" end })
    timed(user)
  end),
  ["a limit of memory"] = iterations(function()
    local all = {}
    for n = 1, 1e9 do all[n] = ("x"):rep(1000) .. n end
  end),

  -- requests that are refused at once
  ["a path that is a number"] = caught(function(user) user:get(1) end),
  ["a path that is nil"] = caught(function(user) user:get(nil) end),
  ["an option that does not exist"] = caught(function(user) user:get("/", { tiemout = 1 }) end),
  ["an option of another type"] = caught(function(user) user:get("/", { timeout = {} }) end),
  ["an argument too many"] = caught(function(user) user:wait(0, 0, 0) end),
  ["an expectation that does not exist"] = caught(function(user) user:get("/", { expect = { statsu = 200 } }) end),
  ["an expectation that is not met"] = iterations(function(user) user:get("/", { expect = { status = 500 } }) end),
  ["an expectation that is not met and ensured"] = iterations(function(user)
    user:get("/", { expect = { status = 500 } }):ensure()
  end),
  ["an address that is none"] = repeated(function(user) user:get "http://[::1/" end),
  ["an address without a host"] = repeated(function(user) user:get "http:///a" end),
  ["an address of another scheme"] = repeated(function(user) user:get "ftp://127.0.0.1/" end),
  ["an address with a port that is none"] = repeated(function(user) user:get "http://127.0.0.1:99999/" end),
  ["an address that nobody has"] = repeated(function(user) user:get "http://256.256.256.256/" end),
  ["port 0"] = repeated(function(user) user:get "http://127.0.0.1:0/" end),
  ["a port where nothing listens"] = repeated(function(user) user:get "http://127.0.0.1:1/" end),
  ["a header that is none"] = caught(function(user) user:get("/", { headers = { ["a b"] = "c" } }) end),
  ["addresses that are none, side by side"] = repeated(function(user) user:fetch { "http://[::1/", "ftp://127.0.0.1/" } end),
  ["no addresses"] = repeated(function(user) user:fetch {} end),
  ["a form that is missing"] = caught(function(user) user:submit(nil) end),
  ["a method of gRPC that does not exist"] = caught(function(user) user:grpc("no.Such/Method", {}) end),
  ["a WebSocket that is refused"] = repeated(function(user) user:websocket "ftp://127.0.0.1/" end),
  ["a socket without an address"] = caught(function(user) user:tcp "" end),
  ["a socket where nothing listens"] = repeated(function(user) user:tcp "127.0.0.1:1" end),

  -- what is closed, or never comes
  ["a stream that is closed"] = repeated(function(user)
    local closed = user.data.closed or user:get("/api/orders/events", { stream = true })
    user.data.closed = closed
    closed:close()
    for _ in closed:lines() do end
  end),
  ["a WebSocket that is closed"] = repeated(function(user)
    local closed = user.data.closed or user:websocket "/api/chat"
    user.data.closed = closed
    closed:close()
    closed:send "a"
    closed:receive()
  end),
  ["a WebSocket that is asked and gives no time"] = repeated(function(user)
    local open = user.data.open or user:websocket "/api/chat"
    user.data.open = open
    open:receive { timeout = 0 }
  end),
  ["a handler of messages"] = repeated(function(user)
    local open = user.data.open or user:websocket "/api/chat"
    user.data.open = open
    open:on_message(function() timed(user) end)
    timed(user)
  end),
  ["a socket that is closed"] = repeated(function(user)
    local closed = user.data.closed or user:tcp()
    user.data.closed = closed
    closed:close()
    closed:send "a"
    closed:receive "line"
  end),
  ["a socket that is given no time"] = repeated(function(user)
    local open = user.data.open or user:udp "127.0.0.1:9"
    user.data.open = open
    open:receive(nil, { timeout = 0 })
  end),
  ["a queue that is empty"] = repeated(function() require("lgoose.shared").queue("empty"):take(0) end),
  ["a queue that is never empty"] = repeated(function()
    local queue = require("lgoose.shared").queue "filled"
    queue:put(1)
    queue:take(1)
  end),

  -- jobs
  ["a job"] = in_a_task(function(user)
    user:spawn(without_end, user)
    user:wait(60)
  end),
  ["a job and its task"] = in_a_task(function(user)
    user:spawn(without_end, user)
    without_end(user)
  end),
  ["a hundred jobs"] = in_a_task(function(user)
    for _ = 1, 100 do user:spawn(without_end, user) end
    user:wait(60)
  end),
  ["a hundred jobs that compute"] = in_a_task(function(user)
    for _ = 1, 100 do
      user:spawn(function()
        while true do end
      end)
    end
    user:wait(60)
  end),
  ["a job of on_start"] = in_a_task(function(user) user:spawn(without_end, user) end, { on_start = true }),
  ["jobs that are over at once"] = repeated(function(user) user:spawn(function() end):join() end),
  ["jobs that are cancelled"] = repeated(function(user) user:spawn(function() end):cancel() end),
  ["a job of each iteration that is cancelled"] = iterations(function(user) user:spawn(without_end, user):cancel() end),
  ["a chain of jobs"] = in_a_task(function(user)
    chain(user)
    user:wait(60)
  end),
  ["a chain of jobs whose task has ended"] = in_a_task(chain),
  ["a chain of jobs that join"] = in_a_task(function(user)
    local function link() user:spawn(link):join() end
    link()
  end),
  ["a tree of jobs"] = in_a_task(tree),
  ["jobs without end that are more than a user may have"] = caught(function(user)
    user:spawn(without_end, user)
  end),
  ["two jobs that wait for each other"] = repeated(function(user) circle(user, 2) end),
  ["a circle of jobs"] = iterations(function(user) circle(user, 7) end),
  ["a circle of jobs that try again"] = in_a_task(function(user)
    local one, other
    one = user:spawn(function()
      while true do
        pcall(other.join, other)
        timed(user)
      end
    end)
    other = user:spawn(function()
      while true do
        pcall(one.join, one)
        timed(user)
      end
    end)
    user:wait(60)
  end),
  ["a job that joins itself"] = repeated(function(user)
    local own
    own = user:spawn(function() pcall(own.join, own) end)
    own:join()
  end),
  ["a job in a transaction"] = repeated(function(user)
    user:transaction("outer", function() user:spawn(timed, user):join() end)
  end),
  ["a job that ends the iteration"] = iterations(function(user)
    user:spawn(function() user:exit_iteration() end)
    user:wait(60)
  end),

  -- loads
  ["at a rate"] = at { rate = 2000, max_users = 3 },
  ["at a rate beyond what can be"] = at { rate = 20000, max_users = 3 },
  ["at a rate, by chance"] = at { rate = 2000, max_users = 3, arrivals = "poisson" },
  ["at a rate, without end"] = at({ rate = 100, max_users = 3 }, without_end),
  ["at a rate, with users that stop"] = at({ rate = 5000, max_users = 100 }, function(user) user:stop() end),
  ["at a rate, with errors"] = at({ rate = 2000, max_users = 3 }, function() error "wrong" end),
  ["in stages"] = at { stages = { "10ms:3", "60s:3" } },
  ["in stages of rates"] = at { stages = { "10ms:500/s", "60s:500/s" }, max_users = 3 },
  ["in iterations that are counted"] = at { iterations = 1000000 },
  ["in iterations that are shared"] = at { shared_iterations = 1000000 },
  ["under a limit of requests"] = at { throttle_requests = 1000000 },
  ["many users"] = at { users = 50 },
  ["users that stop"] = at({ users = 50 }, function(user) user:stop() end),
}

-- Options of the whole plan.
local function of_plan(options, run)
  local place = iterations(run)
  place.plan = options
  return place
end

places["responses of the cache"] = of_plan({ cache = true }, function(user) user:get "/style.css" end)
places["responses of the cache, side by side"] = of_plan({ cache = true }, function(user)
  user:fetch { "/style.css", "/logo.svg" }
end)
places["a connection for each iteration"] = of_plan({ connections = "iteration" }, timed)
places["pauses that are left out"] = of_plan({ wait_factor = 0 }, function(user) user:wait(1) end)

return places
