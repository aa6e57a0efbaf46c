-- Shows retrying with back-off: what is not ready yet is asked for again, later each time, and is a failure only if
-- it never comes. `allow_failure` keeps the attempts before out of the failures.

plan { host = "demo:api", users = 3, run_time = "20s" }

local function patiently(user, path, options)
  local pause = 0.1
  for _ = 1, 4 do
    local answer = user:get(path, { name = options.name, allow_failure = true })
    if answer.status ~= 503 then return answer end
    user:wait(pause, pause * 2) -- at random, so that users do not come back all at once
    pause = pause * 2
  end
  return user:get(path, options)
end

scenario { "customer", wait = 1,
  task { "log in", on_start = true, function(user)
    local answer = user:post("/api/login", nil, { json = { username = "user7", password = "12345" } })
    user:bearer(answer:ensure():json().token)
  end },
  task { "invoice", function(user)
    local order = user:post("/api/orders", nil, { json = { product = 7, quantity = 1 } }):ensure():json()
    local invoice = patiently(user, "/api/orders/" .. order.id .. "/invoice", { name = "invoice" })
    check(invoice:ensure():json().due == order.total, "the invoice is right")
  end },
}

-- lgoose examples/retry.lua
