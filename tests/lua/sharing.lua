-- What users share while they run: counters, queues and maps.

local test = require "test"
local same, raises = test.same, test.raises
local shared = require "lgoose.shared"

local ids, jobs, tokens = shared.counter "ids", shared.queue "jobs", shared.map "tokens"

on("test_start", function()
  jobs:put { path = "/first", n = 1.5, list = { "a", "b" }, yes = true }
  same(ids:get(), 0, "a new counter")
end)

on("test_stop", function()
  same(ids:get(), 8, "counted by all")
  same(tokens:get "token", "t", "kept")
  same(shared.counter("ids"):get(), 8, "the same by its name")
end)

scenario { "alone", users = 1, task { "values and mistakes", function(user)
  local own, other, kept = shared.counter "own", shared.queue "other", shared.map "kept"
  same(own:incr(), 1, "by one")
  same(own:incr(5), 6, "by five")
  same(own:incr(-7), -1, "down")
  raises("would not fit into 64 bits", own.incr, own, math.mininteger)
  raises("expected a whole number", own.incr, own, 1.5)
  raises("'counter.inc' does not exist; did you mean 'incr'?", function() return own.inc end)
  raises("'queue.push' does not exist", function() return other.push end)
  raises("'map.set' does not exist; did you mean 'get'?", function() return kept.set end)
  raises("the name of a counter must be a string, not a table", shared.counter, shared)

  same(other:take(), nil, "nothing there")
  same(other:take(0), nil, "nothing there, nor waited for")
  same(other:take "10ms", nil, "nobody puts any")
  other:put "one"
  other:put(2)
  same(other:size(), 2, "two")
  same(other:take(), "one", "the first")
  same(other:take(60), 2, "the second, at once")
  other:put { inner = json.null }
  same(other:take().inner, json.null, "null")
  raises("the queue 'other' takes strings, numbers, booleans and tables of them: there is no value", other.put, other)
  raises("takes strings, numbers, booleans and tables of them", other.put, other, function() end)
  raises("is not UTF-8", other.put, other, "\xff")
  raises("queue:take", other.take, other, "soon")
  raises("queue:take", other.take, other, {})
  raises("argument too many, a number", other.take, other, 0, 2)

  kept:put("a", { 1, 2 })
  local copy = kept:get "a"
  copy[1] = "changed"
  same(kept:get("a")[1], 1, "a copy")
  kept:put(7, "a number as key")
  same(kept:get "7", "a number as key", "by its text")
  same(kept:size(), 2, "two")
  kept:put("a", nil)
  same(kept:get "a", nil, "removed")
  kept:put("soon gone", 1, 0)
  same(kept:get "soon gone", nil, "expired")
  kept:put("later gone", 1, "1h")
  same(kept:get "later gone", 1, "not yet expired")
  same(kept:remove("later gone", 2), false, "another value")
  same(kept:remove("later gone", 1), true, "that value")
  same(kept:remove "later gone", false, "gone")
  raises("the time that the map 'kept' keeps a value", kept.put, kept, "a", 1, "soon")

  same(kept:get_or("made", function(key) return key .. "!" end), "made!", "made of its key")
  same(kept:get_or("made", error), "made!", "not made again")
  same(kept:get_or("nothing", function() end), nil, "nothing made")
  raises("argument too many, a string", kept.get_or, kept, "more", error, "1s", "x")
  raises("boom", kept.get_or, kept, "raises", function() error "boom" end)
  same(kept:get_or("raises", function() return "made after all" end), "made after all", "after an error")
  raises("is requested by the function that makes it", kept.get_or, kept, "self", function()
    return kept:get_or("self", error)
  end)
  same(kept:get_or("short", function() return 1 end, 0), 1, "made")
  same(kept:get_or("short", function() return 2 end, 0), 2, "made again once expired")
  raises("the function for a value of the map 'kept' must be a function, not a string", kept.get_or, kept, "x", "y")
  raises("takes strings, numbers, booleans", kept.get_or, kept, "odd", function() return error end)
  same(kept:get_or("odd", function() return false end), false, "false is a value")

  local full = shared.queue "full"
  local text = ("x"):rep(8 << 20)
  raises("shared data is full: all counters, queues and maps of a process may hold 64.0 MiB together", function()
    for _ = 1, 9 do
      full:put(text)
    end
  end)
  while full:take() do
  end
  full:put(text)
end } }

-- Each of the others takes what one of them has put.
scenario { "producer", users = 1, task { "puts", function(user)
  same(jobs:size() <= 1, true, "the first may be taken")
  for n = 1, 3 do
    user:get "/echo"
    jobs:put { path = "/job/" .. n, n = n }
  end
end } }

scenario { "consumer", users = 4, task { "takes", function(user)
  local job = jobs:take "60s"
  if job.list then same(job.list[2], "b", "a list") end
  user:get(job.path, { name = "job" })
end } }

-- One of them gets the token, which takes a request, and the others wait for it.
scenario { "member", users = 8, task { "shares a token", function(user)
  local token = tokens:get_or("token", function()
    user:get("/delay/50", { name = "token" })
    return "t"
  end, "10m")
  same(token, "t", "the token of all")
  ids:incr()
end } }
