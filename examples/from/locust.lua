-- Shows a locustfile as a plan: examples/from/locust.py, class by class.

plan { host = "demo:api", users = 5 }

-- class Customer(HttpUser): weight, wait_time = between(1, 3)
scenario { "Customer", weight = 3, wait = { 1, 3 }, order = "random",
  -- def on_start(self)
  task { "log in", on_start = true, function(user)
    local answer = user:post("/api/login", nil, { json = { username = "user7", password = "12345" } })
    user:bearer(answer:ensure():json().token) -- self.client.headers
  end },
  -- @task(3), and name="/api/products/[id]"
  task { "product", weight = 3, function(user)
    user:get("/api/products/" .. random.int(1, 100), { name = "/api/products/[id]" })
  end },
  -- catch_response=True
  task { "orders", function(user)
    local answer = user:get "/api/orders"
    if type(answer:json()) ~= "table" then answer:fail "orders are no list" end
  end },
}

scenario { "Reader", weight = 1, wait = { 1, 3 },
  task { "index", function(user) user:get "/" end },
}

-- lgoose examples/from/locust.lua -t 1m
