-- Shows pacing: an iteration begins every two seconds whatever it took, so a slower site is not asked less often
-- (as long as an iteration fits). `wait.throughput(2)` is the same for tasks: two a second and user.

plan { host = "demo:drupal", users = 4, run_time = "20s" }

scenario { "reader", wait = wait.pacing(2), order = "serial",
  task { "front page", function(user) user:get "/" end },
  task { "article", function(user) user:get("/node/" .. random.int(1, 9999)) end },
}

-- lgoose examples/pacing.lua
