-- Shows a k6 script as a plan: examples/from/k6.js, part by part.

-- options.stages, options.thresholds
plan {
  host = env("SITE", "demo:api"), -- __ENV.SITE
  stages = { "10s:10", "30s:10", "5s:0" },
  thresholds = { "p95 < 500ms", checks = "checks > 99%" },
}

local price = metric.trend "price" -- new Trend('price')

-- setup()
on("test_start", function(user)
  return user:post("/api/login", nil, { json = { username = "user7", password = "12345" } }):ensure():json()
end)

-- export default function
task { "default", wait = 1, function(user)
  user:transaction("browse", function() -- group
    local answer = user:get("/api/products/" .. user.id, { name = "product" }) -- __VU, tags.name
    check(answer.status == 200, "is 200")
    price:add(answer:json().price)
  end)
  user:get("/api/orders", { auth = { bearer = shared.token } })
end }

-- lgoose examples/from/k6.lua
