-- gRPC-Web: over HTTP/1.1, with the trailers in the body.

local test = require "test"
local same = test.same

grpc.load { "kinds.proto", paths = { "protos" } }

task { "web", sequence = 1, function(user)
  local call = user:grpc("test.v1.Kinds/Echo", { a_string = "hi", numbers = { 1, 2 } }, { web = true, name = "echo" })
  same(call.status, "OK", call.error or "ok")
  same(call.message.a_string, "hi", "the message")
  same(call.message.numbers[2], 2, "the message")
  same(call.trailers["x-own"], "1", "trailers")
  call = user:grpc("test.v1.Kinds/Fail", {}, { web = true, name = "fails" })
  same(call.status, "NOT_FOUND", "status")
  same(call.details, "none!", "details")
  call = user:grpc("test.v1.Kinds/Sleep", {}, { web = true, name = "fails" })
  same(call.error, "UNKNOWN: the response has no trailers with a status", "no trailers")
end }
