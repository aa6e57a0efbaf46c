-- Shows checks and the limits that make the exit code 1: what a CI job needs.

plan {
  host = "demo:api",
  users = 5,
  run_time = "10s",
  thresholds = {
    "p95 < 500ms", -- of all requests
    "failures < 1%",
    { "failures < 50%", abort = true, after = "5s" }, -- stop early when nothing works
    ["GET product"] = "p99 < 1s", -- of one row of the report
    ["the price is right"] = "checks > 99%",
  },
}

task { "product", wait = 0.5, function(user)
  local id = random.int(1, 100)
  local product = user:get("/api/products/" .. id):json()
  check(product.id == id, "it is the product")
  check(product.price > 0, "the price is right")
end }

-- lgoose examples/thresholds.lua && echo "good enough"
