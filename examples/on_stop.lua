-- Shows what a user does at its end: give back what it took. `on_stop` runs also after Ctrl-C.

plan { host = "demo:api", users = 3, run_time = "10s" }

scenario { "customer", wait = 1,
  task { "log in", on_start = true, function(user)
    local answer = user:post("/api/login", nil, { json = { username = "user7", password = "12345" } })
    user:bearer(answer:ensure():json().token)
    local order = user:post("/api/orders", nil, { name = "order", json = { product = 7, quantity = 1 } })
    user.data.order = order:ensure().headers["location"]
  end },
  task { "look at the order", function(user)
    user:get(user.data.order, { name = "order" })
  end },
  task { "cancel the order", on_stop = true, function(user)
    user:delete(user.data.order, { expect = { status = 204 } })
  end },
}

-- lgoose examples/on_stop.lua
