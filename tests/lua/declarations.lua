-- What the fields of scenarios and tasks say: hosts, fixed users, names that are left out.

local test = require "test"

plan { headers = { ["X-Plan"] = "every request" } }

scenario { "elsewhere", users = 1, host = "http://127.0.0.1:1",
  task { "away", function(user)
    test.same(user.host, "http://127.0.0.1:1", "host")
    test.same(user.scenario, "elsewhere", "scenario")
    user:get("/", { name = "away" }):pass()
  end },
}

scenario { "three", users = 3,
  task { "id", function(user)
    test.same(user:get("/echo"):json().headers["x-plan"], "every request", "headers of the plan")
    user:get("/three/" .. user.id)
  end },
  task { function(user)
    test.same(user.task, "", "a task without a name")
    user:get "/nameless?q=1"
  end },
}

-- No scenario takes it: it belongs to one named "default".
task { "left over", function(user)
  test.same(user.scenario, "default", "scenario")
  test.raises("'task' belongs at the top level", function() task { function() end } end)
  test.raises("'scenario' belongs at the top level", function() scenario { "x" } end)
  test.raises("'plan' belongs at the top level", function() plan { users = 1 } end)
  test.raises("'on' belongs at the top level", function() on("test_start", function() end) end)
  user:get "/left"
end }
