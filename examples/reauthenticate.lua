-- Shows logging in again: a token that the site no longer takes is replaced, and what was asked for is asked once more.
-- `user:retry` keeps the refused attempt out of the failures; if the second one is refused, too, that counts.

plan { host = "demo:api", users = 3, run_time = "10s" }

local function log_in(user)
  local answer = user:post("/api/login", nil, { name = "log in", json = { username = "user7", password = "12345" } })
  user:bearer(answer:ensure():json().token)
end

local function my_orders(user)
  return user:get("/api/orders", { expect = { status = 200 } })
end

scenario { "customer", wait = 1,
  task { "yesterday's token", on_start = true, function(user) user:bearer "expired" end },
  task { "orders", function(user)
    user:retry { times = 2, function(_, attempt)
      if attempt > 1 then log_in(user) end
      return my_orders(user)
    end }
  end },
}

-- lgoose examples/reauthenticate.lua
