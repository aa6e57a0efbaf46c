-- Shows a response that is read while it comes: server-sent events, with limits on the time to the first and on the gaps between
-- them.

plan { host = "demo:api", users = 3, run_time = "10s",
  thresholds = { ["GET orders"] = { "first_event p95 < 500ms", "event_gap p99 < 250ms" } } }

task { "follow the orders", wait = 1, function(user)
  local stream = user:get("/api/orders/events?n=20&gap=50", { stream = true, name = "orders", timeout = "5s" })
  for event in stream:events() do
    check(event:json().order, "an order")
  end
  check(stream.ok, "to the end")
end }

-- lgoose examples/stream.lua
