-- Shows a module of one's own: examples/lib/shop.lua, for what several plans share. It stands beside the plan or in a
-- folder below, and each user has its own copy of it.

local shop = require "lib.shop"

plan { host = "demo:api", users = 3, run_time = "10s" }

scenario { "customer", wait = 1,
  task { "log in", on_start = true, function(user)
    shop.log_in(user, "user" .. random.int(1, 1000), "12345")
  end },
  task { "order and cancel", function(user)
    local id = shop.order(user, random.int(1, 100))
    if id then user:delete("/api/orders/" .. id, { name = "cancel" }) end
  end },
}

-- lgoose examples/own_module.lua
