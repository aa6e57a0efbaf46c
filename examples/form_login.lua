-- Shows a login by the form on the page: its hidden fields are sent as a browser sends them, and what comes back
-- is checked, since a site says "wrong password" with status 200.

plan { host = "demo:drupal", users = 3, run_time = "10s" }

scenario { "member", wait = { 1, 3 },
  task { "log in", on_start = true, function(user)
    local name = "user" .. random.int(3, 5001)
    local form = user:get("/user"):form "#user-login"
    local answer = user:submit(form, { name = name, pass = "12345" }, { expect = { title = name } })
    answer:ensure() -- without a login this user is of no use: end it
  end },
  task { "front page", function(user)
    user:get("/", { expect = { text = "Log out" } })
  end },
}

-- lgoose examples/form_login.lua
