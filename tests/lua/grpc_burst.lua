-- gRPC: many calls that begin at once on a new connection, whose server takes few at a time.

local test = require "test"
local same = test.same

grpc.load { "kinds.proto", paths = { "protos" } }

local KINDS = "test.v1.Kinds/"

task { "burst", function(user)
  local jobs = {}
  local function begin(job) jobs[#jobs + 1] = user:spawn(job) end
  for number = 1, 30 do
    begin(function()
      local call = user:grpc(KINDS .. "Echo", { an_int32 = number }, { name = "unary" })
      same(call.error, nil, "error")
      same(call.message.an_int32, number, "unary")
    end)
    begin(function()
      local call = user:grpc_stream(KINDS .. "Sum", { name = "stream" })
      call:send { value = number }
      call:close_send()
      same(call:receive().value, number, tostring(call.error))
    end)
  end
  for _, job in ipairs(jobs) do job:join() end
end }
