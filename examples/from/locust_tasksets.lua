-- Shows a locustfile with nested task sets as a plan: examples/from/locust_tasksets.py, class by class.

plan { host = "demo:api", users = 5, hatch_rate = 5, run_time = "10s" }

local orders = require("lgoose.shared").queue "orders" -- deque()

local function log_in(user)
  local login = { username = "user7", password = "12345" }
  user:bearer(user:post("/api/login", nil, { name = "login", json = login }):ensure():json().token)
end

local function basket(user) -- class Basket(SequentialTaskSet)
  local order = user:post("/api/orders", nil, { name = "order", json = { product = 7, quantity = 2 } })
  orders:put(order:ensure():json().id)
  user:wait(0.5, 1)
  user:get("/api/orders", { name = "orders" })
end

local function shop(user) -- class Shop(TaskSet)
  user:get("/api/products", { name = "list" }) -- on_start
  while true do
    local nested = random.weighted { product = 3, basket = 2, leave = 1 }
    if nested == "leave" then return end -- interrupt()
    if nested == "basket" then basket(user) end
    if nested == "product" then user:get("/api/products/" .. random.int(1, 100), { name = "product" }) end
    user:wait(0.5, 1)
  end
end

scenario { "Customer", wait = { 0.5, 1 }, order = "random", task { "log in", on_start = true, log_in },
  task { "Shop", weight = 3, shop },
  task { "front page", function(user) user:get "/" end },
}

scenario { "Warehouse", users = 1, wait = 0.2, task { "log in", on_start = true, log_in }, -- fixed_count
  task { "cancel", function(user)
    local id = orders:take() -- popleft()
    if not id then return end
    local answer = user:delete("/api/orders/" .. id) -- catch_response=True
    if answer.body ~= "" then answer:fail "a cancelled order says something" end
    answer = user:get("/api/orders/" .. id, { name = "cancelled" })
    if answer.status == 404 then answer:pass() else answer:fail "the order is still there" end
  end },
}
-- lgoose examples/from/locust_tasksets.lua
