-- Shows what a plan reads from outside: `-e NAME=value`, a file of such lines (`--env-file`), or the environment.
-- So passwords stay out of the plan, and one plan serves several sites.

plan { host = env("SITE", "demo:api"), users = 3, run_time = "10s" }

local name = env("SHOP_USER", "user7")
local password = env("SHOP_PASSWORD", "12345")
local quantity = tonumber(env("QUANTITY", "1"))

scenario { "customer", wait = 1,
  task { "log in", on_start = true, function(user)
    local answer = user:post("/api/login", nil, { json = { username = name, password = password } })
    user:bearer(answer:ensure():json().token)
  end },
  task { "order", function(user)
    user:post("/api/orders", nil, { json = { product = 7, quantity = quantity } })
  end },
}

-- lgoose examples/environment.lua -e SHOP_USER=user8 -e QUANTITY=3
