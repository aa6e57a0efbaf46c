-- A soak: the load of a busy hour for eight hours. What grows slowly (memory, logs, connections that are not given
-- back, tables without an index) shows itself as latency that rises while the load stays the same.
--
--   lgoose plans/soak.lua -o json=soak.json               # eight hours
--   lgoose plans/soak.lua --stage 1m:20 --stage 10m:20    # a rehearsal of ten minutes

plan {
  host = "demo:drupal",
  stages = { "5m:20", "8h:20", "5m:0" },
  throttle_requests = 200, -- a site that gets faster must not be asked more
  warmup = "5m", -- the climb is in a table of its own
  running_metrics = "5m",
  thresholds = {
    "failures < 0.1%",
    -- Every half hour has to be as good as the first, not only the mean of all.
    { "p95 < 1s", during = "30m" },
    { "failures < 5%", during = "5m", abort = true },
  },
}

scenario { "reader", weight = 4, wait = { 2, 10 },
  task { "front page", weight = 3, function(user)
    user:get("/", { expect = { title = "Welcome" } })
  end },
  task { "article", weight = 7, function(user)
    user:get("/node/" .. random.int(1, 9999), { expect = { text = "</html>" } })
  end },
}

-- Comes, does something, and goes: connections and sessions are opened and closed for eight hours.
scenario { "member", weight = 1, wait = { 1, 3 }, order = "serial",
  task { "log in", function(user)
    user.cookies:clear()
    local name = "user" .. random.int(3, 5001)
    local form = user:get("/user", { name = "login form" }):form "#user-login"
    user:submit(form, { name = name, pass = "12345" }, { expect = { title = name } }):ensure()
  end },
  task { "front page as a member", function(user)
    user:get("/", { expect = { text = "Log out" } })
  end },
  task { "log out", function(user)
    user:get "/user/logout"
  end },
}
