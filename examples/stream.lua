-- Shows a response that is read while it comes: server-sent events, with the time to the first and the gaps between them.

plan { host = "demo:api", users = 3, run_time = "10s", thresholds = { ["first event (s)"] = "p95 < 0.5" } }

local first, gaps = metric.trend "first event (s)", metric.trend "gap (s)"

task { "follow the orders", wait = 1, function(user)
  local stream = user:get("/api/orders/events?n=20&gap=50", { stream = true, name = "orders", timeout = 5 })
  local before
  for event in stream:events() do
    if before then gaps:add(event.at - before) else first:add(event.at) end
    before = event.at
    check(event:json().order, "an order")
  end
  check(stream.ok, "to the end")
end }

-- lgoose examples/stream.lua
