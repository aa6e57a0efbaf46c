-- gRPC: the connections that calls take.

local same = require("test").same

grpc.load { "kinds.proto", paths = { "protos" } }

local OPTIONS = { name = "echo", connection = env "CONNECTION" }

task { "calls", function(user)
  for _ = 1, 2 do
    local call = user:grpc("test.v1.Kinds/Echo", { an_int32 = 7 }, OPTIONS)
    same(call.error, nil, "error")
    same(call.message.an_int32, 7, "one after another")
  end
  local jobs = {}
  for place = 1, 2 do
    jobs[place] = user:spawn(function()
      local stream = user:grpc_stream("test.v1.Kinds/Double", OPTIONS)
      stream:send { value = place }
      stream:close_send()
      same(stream:receive().value, place, "side by side")
      same(stream:receive(), nil, tostring(stream.error))
    end)
  end
  for _, job in ipairs(jobs) do job:join() end
end }
