-- Shows gRPC: a call with one response, one that fails as it should, and a stream of messages. The server describes its own methods.

grpc.reflect()

plan {
  host = "demo:api",
  users = 3,
  run_time = "10s",
  thresholds = { ["GRPC shop.v1.Orders/Create"] = "p95 < 200ms" },
}

task { "order", wait = { 0.2, 0.5 }, function(user)
  local items = { { product = "tea", quantity = random.int(1, 3) } }
  local created = user:grpc("shop.v1.Orders/Create", { customer = user.id, items = items }, { timeout = "1s" })
  if not created.ok then return end
  check(created.message.state == "STATE_PAID", "the order is paid")
  local watch = user:grpc_stream("shop.v1.Orders/Watch")
  watch:send { id = created.message.id }
  for event in watch:messages() do
    if event.state == "STATE_DELIVERED" then user:log "delivered" end
  end
end }

task { "wrong order", wait = 1, function(user)
  user:grpc("shop.v1.Orders/Get", { id = -1 }, { name = "no such order", expect = { status = "NOT_FOUND" } })
end }

-- lgoose examples/grpc.lua
