-- Every way to wait. A wait may last longer than it should, never shorter: that is what can be asserted.

local test = require "test"

-- Remembers the time at the end of a task and holds the next one against it.
local function after(least)
  return function(user)
    local now = os.clock()
    if user.data.ended then
      local paused = now - user.data.ended
      assert(paused >= least, user.scenario .. ": paused " .. paused .. " s, not " .. least)
    end
    user:get("/" .. user.scenario)
    user.data.ended = os.clock()
  end
end

scenario { "number", users = 1, wait = 0.02, task { after(0.02) } }
scenario { "range", users = 1, wait = { 0.02, 0.03 }, task { after(0.02) } }
scenario { "between", users = 1, wait = wait.between(0.02, 0.03), task { after(0.02) } }
scenario { "constant", users = 1, wait = wait.constant(0.02), task { after(0.02) } }
scenario { "normal", users = 1, wait = wait.normal(0.03, 0), task { after(0.03) } }
scenario { "exponential", users = 1, wait = wait.exponential(0.001), task { after(0) } }
scenario { "throughput", users = 1, wait = wait.throughput(20), task { after(0) } }
scenario { "tick", users = 1, wait = wait.tick(0.02), task { after(0) } }
-- The first task of the n-th iteration begins n times 0.04 s after that of the first, or later: one that began late is
-- followed the sooner. The second task follows at once. Half of the pace is for what a busy machine takes to begin.
scenario { "pacing", users = 1, wait = wait.pacing(0.04), order = "serial",
  task { "first", function(user)
    local now = os.clock()
    user.data.begun = user.data.begun or now
    local due = 0.04 * (user.iteration - 1)
    assert(now - user.data.begun >= due - 0.02, "an iteration began too soon")
    user:get "/pacing"
  end },
  task { "second", function(user) user:get "/pacing" end },
}
-- A task's own wait goes before its scenario's.
scenario { "own", users = 1, wait = 3600, task { wait = 0.02, after(0.02) } }
scenario { "inside", users = 1,
  task { function(user)
    local begin = os.clock()
    user:wait(0.01)
    assert(os.clock() - begin >= 0.01, "user:wait(0.01)")
    user:wait(0.01, 0.02)
    assert(os.clock() - begin >= 0.02, "user:wait(0.01, 0.02)")
    user:wait(0)
    user:wait("10ms", "0.02s")
    assert(os.clock() - begin >= 0.03, "user:wait of texts")
    user:wait(wait.normal(0.02, 0))
    assert(os.clock() - begin >= 0.05, "user:wait by a rule")
    user:wait { 0.01, "20ms" }
    assert(os.clock() - begin >= 0.06, "user:wait of a range")
    user:wait(wait.exponential "1ms")
    test.raises("to keep a pace, set the 'wait' of a scenario", user.wait, user, wait.pacing(1))
    test.raises("the rule of user:wait must be {from, to}", user.wait, user, { 2, 1 })
    test.raises("'soon' is not a duration", user.wait, user, "soon")
    test.raises("-1", user.wait, user, -1)
    test.raises("smaller", user.wait, user, 2, 1)
    user:get "/inside"
  end },
}
