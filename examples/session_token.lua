-- Shows a session by token: ask for one when the user starts, send it with every request from then on.

plan { host = "demo:api", users = 3, run_time = "10s" }

scenario { "customer", wait = 1,
  task { "log in", on_start = true, function(user)
    local answer = user:post("/api/login", nil, { json = { username = "user7", password = "12345" } })
    user:bearer(answer:ensure():json().token)
  end },
  task { "my orders", function(user)
    user:get "/api/orders"
  end },
  task { "without it", function(user)
    -- A header of one request goes before what the user sends with all.
    user:get("/api/me", { headers = { authorization = "Bearer nonsense" }, expect = { status = 401 } })
  end },
}

-- lgoose examples/session_token.lua
