-- Shows a Goose load test with a shared token and a sequence: examples/from/goose_token.rs, part by part.

-- set_default(GooseDefault::Host, …)
plan { host = "demo:api", users = 10, hatch_rate = 10 }

local tokens = require("lgoose.shared").map "tokens" -- static TOKEN, LIFETIME

-- sign(): who finds the token expired logs in, and all others wait for it
local function sign(user)
  user:bearer(tokens:get_or("token", function()
    local login = { username = "user7", password = "12345" }
    return user:post("/api/login", nil, { name = "login", json = login }):ensure():json().token
  end, "5s"))
end

-- set_sequence(1) to set_sequence(3)
scenario { "Customer", wait = { 1, 2 },
  task { "look", sequence = 1, weight = 2, function(user)
    user:get("/api/products/" .. random.int(1, 100), { name = "product" })
  end },
  task { "order", sequence = 2, function(user)
    sign(user)
    local answer = user:post("/api/orders", nil, { json = { product = 7, quantity = 1 } })
    user.data.order = answer:ensure():json().id -- set_session_data
  end },
  task { "cancel", sequence = 3, function(user)
    sign(user)
    user:delete("/api/orders/" .. user.data.order, { name = "order", expect = { status = 204 } })
  end },
}

-- lgoose examples/from/goose_token.lua -t 1m
