-- Shows a whole small plan: log in once, then read two pages with pauses, as a visitor does.

plan { host = "demo:drupal", users = 3, run_time = "10s" }

scenario { "reader", wait = { 1, 3 },
  task { "log in", on_start = true, function(user)
    local form = user:get("/user"):form "#user-login"
    user:submit(form, { name = "user7", pass = "12345" })
  end },
  task { "front page", weight = 2, function(user)
    user:get("/", { expect = { status = 200, title = "Welcome" } })
  end },
  task { "own page", function(user)
    user:get "/user/7"
  end },
}

-- lgoose examples/simple.lua
