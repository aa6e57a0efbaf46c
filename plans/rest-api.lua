-- A REST API in JSON under customers who log in, look around, and place, change and cancel orders: every verb, every
-- status, with checks of what comes back and limits that fail a build.
-- Needs the paths below with users user1…user1000 and the password 12345; 'demo:api' has them. For an API of your own,
-- change the paths, and give the account as API_USER and API_PASSWORD, for example with `-e API_USER=ann`.
--
--   lgoose plans/rest-api.lua -u 20 -r 10 -t 1m

plan {
  host = "demo:api",
  users = 10,
  run_time = "30s",
  headers = { accept = "application/json" },
  thresholds = {
    "failures < 1%",
    "p95 < 500ms",
    ["POST create order"] = "p99 < 1s",
    checks = "checks > 99%",
  },
}

local NAME, PASSWORD = env("API_USER", nil), env("API_PASSWORD", "12345")

local function log_in(user)
  local name = NAME or "user" .. random.int(1, 1000)
  local answer = user:post("/api/login", nil, { json = { username = name, password = PASSWORD } })
  user:bearer(answer:ensure():json().token)
end

local function list_products(user)
  local products = user:get("/api/products"):ensure():json()
  check(#products > 0, "there are products")
  user.data.products = products
end

local function read_product(user)
  local known = user.data.products and random.choice(user.data.products) or { id = 1 }
  user:get("/api/products/" .. known.id, { expect = { json = { id = known.id } } })
end

local function missing_product(user)
  user:get("/api/products/100000", { expect = { status = 404 } })
end

local function no_token(user)
  user:get("/api/orders", { headers = { authorization = "Bearer nobody" }, expect = { status = 401 } })
end

-- The whole life of an order. `ensure` ends the task when a step failed: the next ones would only fail after it.
local function order(user)
  local created = user:post("/api/orders", nil, {
    name = "create order",
    json = { product = random.int(1, 100), quantity = 1 },
    expect = { status = 201, header = { location = true } },
  })
  local path = created:ensure().headers["location"]
  user:wait(0.5, 1)
  local read = user:get(path, { name = "read order", expect = { json = { quantity = 1 } } }):ensure()
  local changed = user:patch(path, nil, { name = "change order", json = { quantity = 3 } }):ensure()
  check(math.abs(changed:json().total - 3 * read:json().total) < 0.01, "three cost three times as much")
  user:delete(path, { name = "cancel order", expect = { status = 204 } }):ensure()
  user:get(path, { name = "read cancelled order", expect = { status = 404 } })
end

local function refused_order(user)
  local answer = user:post("/api/orders", nil, { json = { product = 0, quantity = 1 }, expect = { status = 422 } })
  check(answer:json().error ~= nil, "a refusal says why")
end

scenario { "customer", wait = { 0.5, 1.5 },
  task { "log in", on_start = true, sequence = 1, log_in },
  task { "list products", on_start = true, sequence = 2, list_products },
  task { "read product", weight = 10, read_product },
  task { "order", weight = 4, order },
  task { "missing product", missing_product },
  task { "without a token", no_token },
  task { "refused order", refused_order },
}
