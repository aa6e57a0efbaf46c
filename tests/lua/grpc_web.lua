-- gRPC-Web: over HTTP/1.1, with the trailers in the body.

local test = require "test"
local same, raises = test.same, test.raises

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
  call = user:grpc_stream("test.v1.Kinds/Count", { web = true, name = "count", message = { from = 1, to = 3 } })
  for n = 1, 3 do same(call:receive().value, n, "a message") end
  same(call:receive(), nil, "the end")
  same(call.status, "OK", call.error or "ok")
  local stream = user.grpc_stream
  raises("'test.v1.Kinds/Count' takes one message", call.send, call, { from = 1 })
  raises("'test.v1.Kinds/Sum' takes a stream, which gRPC-Web does not support", stream, user, "test.v1.Kinds/Sum", { web = true, message = {} })
  raises("a stream by gRPC-Web sends its message with the call", stream, user, "test.v1.Kinds/Count", { web = true })
  raises("option 'message' is for a stream by gRPC-Web", stream, user, "test.v1.Kinds/Count", { message = {} })
end }
