-- The smallest gRPC call. What lgoose itself costs.

grpc.reflect()

plan { host = "demo:api" }

task { "get", function(user)
  user:grpc("shop.v1.Orders/Get", { id = 7 })
end }

-- benches/footprint.sh runs it.
