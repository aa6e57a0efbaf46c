-- Shows data from a CSV file: read once for all users, its rows handed out one after the other and from the top
-- again. `order = "random"` draws them.

plan { host = "demo:api", users = 3, run_time = "10s" }

local accounts = data.csv "data/users.csv"

scenario { "customer", wait = 1,
  task { "log in", function(user)
    local row = accounts:next()
    user:post("/api/login", nil, {
      json = { username = row.username, password = row.password },
      headers = { ["x-city"] = row.city },
    })
  end },
}

-- lgoose examples/csv_data.lua
