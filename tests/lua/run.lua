-- What a plan knows of its run and asks of it.

local test = require "test"
local same, raises = test.same, test.raises

on("test_start", function()
  same(run.users(), 0, "no user yet")
  same(run.elapsed(), 0, "nor time")
  raises("no user runs during test_start", run.ready)
end)

on("test_stop", function() same(run.users(), 0, "no user any more") end)

local ended

scenario { "one", task { "knows and asks", sequence = 1, function(user)
  same(run.users(), 1, "this one")
  same(run.elapsed() >= 0, true, "time")
  run.ready()
  raises("the reason of run.stop must be a string, not nil", run.stop)
  raises("the reason of run.fail must be a string, not a table", run.fail, {})
  raises("'run.halt' does not exist", function() return run.halt end)
  raises("libraries are read-only", function() run.stop = 1 end)
  user:get "/echo"
end }, task { "leaves the iteration", sequence = 2, function(user)
  user:transaction("left", function() ended = true end)
  pcall(user.exit_iteration, user)
  error "not reached"
end }, task { "is not run", sequence = 3, function() error "not reached" end } }
