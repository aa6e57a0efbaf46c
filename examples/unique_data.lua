-- Shows data that no two users share: each takes an account of its own when it starts and keeps it. A user that
-- finds none left stops, with a warning.

plan { host = "demo:api", users = 5, run_time = "10s" }

local accounts = data.csv("data/users.csv", { order = "unique" })

scenario { "customer", wait = 1,
  task { "log in", on_start = true, function(user)
    local account = accounts:next()
    user.data.name = account.username
    user:basic_auth(account.username, account.password)
  end },
  task { "who am I", function(user)
    user:get("/basic", { expect = { json = { name = user.data.name } } })
  end },
}

-- lgoose examples/unique_data.lua
