-- Functions beside a task: user:spawn.

local test = require "test"
local same, raises = test.same, test.raises

task { "side by side", sequence = 1, function(user)
  -- Each is answered once all four are there.
  local tickets = {}
  local function meet(n) tickets[n] = user:get("/meet/4", { name = "meet" }):json "ticket" end
  for n = 1, 3 do user:spawn(meet, n) end
  same(#tickets, 0, "none begins before the task waits")
  meet(4)
  user:spawn(function() user:wait(0) end):join()
end }

task { "what they return", sequence = 2, function(user)
  local job = user:spawn(function(a, b)
    local response = user:get("/echo?in-a-job", { name = "echo" })
    return response, a + b, nil
  end, 3, 4)
  local response, sum, none = job:join()
  same(response.status, 200, "a response")
  same(sum, 7, "a number")
  same(none, nil, "and nil")
  same(select("#", job:join()), 3, "as often as it is asked")
  same(select("#", user:spawn(function() end):join()), 0, "nothing")
  same(user:spawn(function() return user:spawn(function() return "inner" end):join() end):join(), "inner", "one in another")
  local order = {}
  user:spawn(function()
    for n = 1, 3 do
      order[#order + 1] = n
      user:wait(0)
    end
  end)
  user:get("/echo?beside", { name = "echo" })
  user.data.order = order
end }

task { "joined at its end", sequence = 3, function(user)
  same(#user.data.order, 3, "of the task before")
  for n = 1, 10 do
    user:spawn(function() user:get("/echo?" .. n, { name = "joined" }) end)
  end
end }

task { "errors", sequence = 4, function(user)
  local job = user:spawn(function() error("wrong") end)
  raises("jobs.lua:47: wrong", job.join, job)
  same(job:join(), nil, "raised once")
  local limit = user:spawn(function() error { code = 7 } end)
  local _, raised = pcall(limit.join, limit)
  same(raised.code, 7, "the table itself")
  raises("user:spawn takes a function", user.spawn, user, 7)
  raises("'job.jion' does not exist; did you mean 'join'?", function() return job.jion end)
  raises("cannot set 'name' of a job", function() job.name = "x" end)
  raises("job:join is called with a colon", job.join)
  local own
  own = user:spawn(function() own:join() end)
  raises("a job cannot wait for itself", own.join, own)
  local many = {}
  for n = 1, 100 do many[n] = user:spawn(function() user:wait(60) end) end
  raises("the user has 100 jobs at a time", user.spawn, user, function() end)
  for _, one in ipairs(many) do one:cancel() end
  for _, one in ipairs(many) do one:join() end
  user:spawn(function() end):join()
end }

task { "that wait for each other", sequence = 4, function(user)
  local circle = "these jobs wait for each other"
  for count = 2, 9 do
    local jobs = {}
    for n = 1, count do
      jobs[n] = user:spawn(function()
        user:wait(0)
        return jobs[n % count + 1]:join()
      end)
    end
    -- It is raised where the circle is closed, and goes on to those that wait there.
    local raised = 0
    for _, job in ipairs(jobs) do
      local ok, problem = pcall(job.join, job)
      if not ok and problem:find(circle, 1, true) then raised = raised + 1 end
    end
    same(raised > 0, true, "a circle of " .. count)
  end

  -- The error can be caught; then the others get what the job returns.
  local one, other
  local joins = false
  one = user:spawn(function()
    user:wait(0)
    joins = true
    return other:join()
  end)
  other = user:spawn(function()
    repeat user:wait(0) until joins
    local ok, problem = pcall(one.join, one)
    same(ok, false, "it does not wait")
    same(problem:find(circle, 1, true) ~= nil, true, "it says why")
    return "in spite of that"
  end)
  same(one:join(), "in spite of that", "the other goes on")

  -- By way of a job that is no part of the circle itself.
  local beside
  one = user:spawn(function()
    user:wait(0)
    return other:join()
  end)
  other = user:spawn(function()
    user:wait(0)
    return beside:join()
  end)
  beside = user:spawn(function() return one:join() end)
  user:wait(0)
  raises(circle, other.join, other)

  -- No circle: a chain, two that wait for one, one that has waited for it before, and one that is cancelled.
  local last = user:spawn(function()
    user:wait(0.001)
    return 0
  end)
  for _ = 1, 20 do
    local before = last
    last = user:spawn(function() return before:join() + 1 end)
  end
  same(last:join(), 20, "a chain")
  one = user:spawn(function()
    user:wait(0.001)
    return "both"
  end)
  local both = {}
  for n = 1, 2 do both[n] = user:spawn(function() return one:join() end) end
  same(both[1]:join() .. both[2]:join(), "bothboth", "two that wait for one")
  one = user:spawn(function()
    user:spawn(function() user:wait(0) end):join()
    user:wait(0.001)
    return "again"
  end)
  other = user:spawn(function() return one:join() end)
  same(other:join(), "again", "one that has waited")
  one = user:spawn(function()
    user:wait(0)
    return other:join()
  end)
  other = user:spawn(function() user:wait(60) end)
  user:wait(0)
  one:cancel()
  one:join()
  other:cancel()
  same(other:join(), nil, "one that was waited for")
  other = user:spawn(function() return one:join() end)
  same(other:join(), nil, "one that waited for another when it was cancelled")
  one = user:spawn(function()
    user:wait(0)
    return other:join()
  end)
  other = user:spawn(function()
    user:wait(0.001)
    one:cancel()
    return "cancelled", one:join()
  end)
  same(other:join(), "cancelled", "one that is cancelled by the one that it waits for")
end }

task { "cancelled", sequence = 5, function(user)
  local closed, count = false, 0
  local endless = user:spawn(function()
    local _ <close> = setmetatable({}, { __close = function() closed = true end })
    while true do
      count = count + 1
      user:wait(60)
    end
  end)
  user:wait(0)
  endless:cancel()
  same(endless:join(), nil, "returns nothing")
  same(closed, true, "what it has open is closed")
  same(count, 1, "it had begun")
  local at_work = user:spawn(function()
    user:get("/delay/20", { name = "finished first" })
    user:get("/echo?never", { name = "never" })
  end)
  user:wait(0.005)
  at_work:cancel()
  at_work:join()
  local never = user:spawn(function() user:get("/echo?never", { name = "never" }) end)
  never:cancel()
  never:join()
end }

task { "verdicts", sequence = 6, function(user)
  local missing = user:spawn(function() return user:get("/status/404", { name = "passed later" }) end)
  local response = missing:join()
  user:get("/echo?between", { name = "echo" })
  same(response.ok, false, "it failed")
  response:pass()
  user:spawn(function()
    local other = user:get("/status/404", { name = "passed in the job" })
    user:wait(0.01)
    other:pass()
  end)
  for _ = 1, 5 do user:get("/echo?beside", { name = "echo" }) end
end }

task { "tags and transactions", sequence = 7, function(user)
  user.tags.who = "both"
  user:transaction("outer", { tags = { part = "outer" } }, function()
    user:spawn(function()
      user:get("/delay/10", { name = "within" })
      user:transaction("inner", { tags = { part = "inner" } }, function()
        user:get("/delay/10", { name = "within" })
      end)
      user:get("/delay/1", { name = "within" })
    end)
    user:get("/delay/5", { name = "within" })
  end)
  user:get("/echo?without", { name = "without" })
  user.tags.who = nil
end }

task { "coroutines", sequence = 8, function(user)
  local generate = coroutine.wrap(function()
    for n = 1, 3 do coroutine.yield(user:get("/echo?" .. n, { name = "echo" }).status + n) end
  end)
  local job = user:spawn(function()
    local ok, problem = pcall(function()
      user:wait(0.002)
      error("caught", 0)
    end)
    return ok, problem
  end)
  for n = 1, 3 do same(generate(), 200 + n, "of a coroutine") end
  local ok, problem = job:join()
  same(ok, false, "a protected call in a job")
  same(problem, "caught", "its error")
end }

task { "an event stream beside pages", sequence = 9, function(user)
  local stream = user:get("/events/20", { stream = true, name = "events" })
  local count = 0
  local reader = user:spawn(function()
    for _ in stream:events() do count = count + 1 end
  end)
  for _ = 1, 3 do user:get("/echo?beside", { name = "echo" }) end
  reader:join()
  same(count, 20, "all events")
  local other = user:get("/events/1000", { stream = true, name = "closed" })
  local rest = user:spawn(function() for _ in other:events() do end end)
  user:wait(0.01)
  other:close()
  rest:join()
end }
