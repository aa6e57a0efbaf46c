-- A stream of a hundred events. What lgoose itself costs.

plan { host = "demo:api" }

task { "follow", function(user)
  for _ in user:get("/api/orders/events?n=100&gap=0", { stream = true }):events() do end
end }

-- benches/footprint.sh runs it.
