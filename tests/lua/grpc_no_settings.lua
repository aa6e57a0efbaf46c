-- gRPC: calls to a server that takes connections and never says anything.

local same = require("test").same

grpc.load { "kinds.proto", paths = { "protos" } }

task { "calls", function(user)
  local jobs, options = {}, { name = "calls", timeout = 0.2 }
  for place = 1, 8 do
    jobs[2 * place - 1] = user:spawn(function()
      local call = user:grpc("test.v1.Kinds/Echo", {}, options)
      same(call.status, "DEADLINE_EXCEEDED", tostring(call.error))
    end)
    jobs[2 * place] = user:spawn(function()
      local call = user:grpc_stream("test.v1.Kinds/Count", options)
      same(call:receive(), nil, "nothing comes")
      same(call.status, "DEADLINE_EXCEEDED", tostring(call.error))
    end)
  end
  for _, job in ipairs(jobs) do job:join() end
end }
