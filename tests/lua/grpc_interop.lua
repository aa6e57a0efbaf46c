-- The interoperability tests of gRPC that concern a client, against a server of gRPC's own for Go: a task for each.
-- https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md

local test = require "test"
local same = test.same

grpc.load { "interop.proto", paths = { "protos" } }

local SERVICE = "grpc.testing.TestService/"

local function zeros(count) return { body = ("\0"):rep(count) } end

task { "empty_unary", sequence = 1, function(user)
  local call = user:grpc(SERVICE .. "EmptyCall", {})
  same(call.status, "OK", "status")
  same(next(call.message), nil, "an empty message")
end }

task { "large_unary", sequence = 1, function(user)
  local call = user:grpc(SERVICE .. "UnaryCall", { response_size = 314159, payload = zeros(271828) })
  same(call.ok, true, call.error or "ok")
  same(call.message.payload.body, ("\0"):rep(314159), "the payload")
end }

task { "client_streaming", sequence = 1, function(user)
  local call = user:grpc_stream(SERVICE .. "StreamingInputCall")
  for _, size in ipairs { 27182, 8, 1828, 45904 } do
    same(call:send { payload = zeros(size) }, true, "sent")
  end
  call:close_send()
  same(call:receive().aggregated_payload_size, 74922, "the sum")
  same(call.status, "OK", "status")
end }

task { "server_streaming", sequence = 1, function(user)
  local call = user:grpc_stream(SERVICE .. "StreamingOutputCall")
  local sizes, got = { 31415, 9, 2653, 58979 }, {}
  call:send { response_parameters = { { size = sizes[1] }, { size = sizes[2] }, { size = sizes[3] }, { size = sizes[4] } } }
  for message in call:messages() do got[#got + 1] = #message.payload.body end
  same(table.concat(got, " "), table.concat(sizes, " "), "sizes")
  same(call.status, "OK", "status")
end }

task { "ping_pong", sequence = 1, function(user)
  local call = user:grpc_stream(SERVICE .. "FullDuplexCall")
  local sent = { 27182, 8, 1828, 45904 }
  for place, size in ipairs { 31415, 9, 2653, 58979 } do
    call:send { response_parameters = { { size = size } }, payload = zeros(sent[place]) }
    same(#call:receive().payload.body, size, "size")
  end
  call:close_send()
  same(call:receive(), nil, "the end")
  same(call.status, "OK", "status")
end }

task { "empty_stream", sequence = 1, function(user)
  local call = user:grpc_stream(SERVICE .. "FullDuplexCall")
  call:close_send()
  same(call:receive(), nil, "nothing")
  same(call.status, "OK", "status")
end }

task { "custom_metadata", sequence = 1, function(user)
  local metadata = {
    ["x-grpc-test-echo-initial"] = "test_initial_metadata_value",
    ["x-grpc-test-echo-trailing-bin"] = "\xab\xab\xab",
  }
  local function echoed(call)
    same(call.metadata["x-grpc-test-echo-initial"], "test_initial_metadata_value", "before")
    same(call.trailers["x-grpc-test-echo-trailing-bin"], "\xab\xab\xab", "after")
  end
  echoed(user:grpc(SERVICE .. "UnaryCall", { response_size = 314159, payload = zeros(271828) }, { metadata = metadata }))
  local call = user:grpc_stream(SERVICE .. "FullDuplexCall", { metadata = metadata })
  call:send { response_parameters = { { size = 314159 } }, payload = zeros(271828) }
  same(#call:receive().payload.body, 314159, "size")
  call:close_send()
  same(call:receive(), nil, "the end")
  echoed(call)
end }

task { "status_code_and_message", sequence = 1, function(user)
  local status = { code = 2, message = "test status message" }
  local expect = { status = "UNKNOWN" }
  local call = user:grpc(SERVICE .. "UnaryCall", { response_status = status }, { expect = expect })
  same(call.code, 2, "code")
  same(call.details, "test status message", "message")
  same(call.ok, true, "as expected")
  call = user:grpc_stream(SERVICE .. "FullDuplexCall", { expect = expect })
  call:send { response_status = status }
  call:close_send()
  same(call:receive(), nil, "nothing")
  same(call.status, "UNKNOWN", "status")
  same(call.details, "test status message", "message")
  same(call.ok, true, "as expected")
end }

task { "special_status_message", sequence = 1, function(user)
  local text = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
  local call = user:grpc(SERVICE .. "UnaryCall", { response_status = { code = 2, message = text } }, { expect = { status = 2 } })
  same(call.details, text, "message")
end }

task { "unimplemented_method", sequence = 1, function(user)
  local call = user:grpc(SERVICE .. "UnimplementedCall", {}, { expect = { status = "UNIMPLEMENTED" } })
  same(call.status, "UNIMPLEMENTED", "status")
end }

task { "unimplemented_service", sequence = 1, function(user)
  local call = user:grpc("grpc.testing.UnimplementedService/UnimplementedCall", {}, { expect = { status = "UNIMPLEMENTED" } })
  same(call.status, "UNIMPLEMENTED", "status")
end }

task { "cancel_after_begin", sequence = 1, function(user)
  local call = user:grpc_stream(SERVICE .. "StreamingInputCall")
  call:close()
  same(call.status, "CANCELLED", "status")
  same(call.ok, true, "the plan wants it")
end }

task { "cancel_after_first_response", sequence = 1, function(user)
  local call = user:grpc_stream(SERVICE .. "FullDuplexCall")
  call:send { response_parameters = { { size = 31415 } }, payload = zeros(27182) }
  same(#call:receive().payload.body, 31415, "size")
  call:close()
  same(call.status, "CANCELLED", "status")
end }

task { "timeout_on_sleeping_server", sequence = 1, function(user)
  local expect = { status = "DEADLINE_EXCEEDED" }
  local call = user:grpc_stream(SERVICE .. "FullDuplexCall", { timeout = "1ms", expect = expect })
  call:send { payload = zeros(27182) }
  same(call:receive(), nil, "nothing")
  same(call.status, "DEADLINE_EXCEEDED", "status")
  same(call.ok, true, "as expected")
end }
