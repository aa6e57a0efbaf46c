-- gRPC with a server of another library, that of Python: every kind of field, all statuses, streams, deadlines, metadata.

local test = require "test"
local same = test.same

if env("SCHEMA", "loaded") == "loaded" then
  local methods = grpc.load { "kinds.proto", paths = { "protos" } }
  same(#methods, 8, "methods")
  same(grpc.load({ "kinds.proto", paths = { "protos" } })[1], methods[1], "again")
else
  grpc.reflect()
end

local KINDS = "test.v1.Kinds/"

local ALL = {
  a_double = 1.5, a_float = -0.25, an_int32 = -3, an_int64 = math.mininteger,
  a_uint32 = 4294967295, a_uint64 = "18446744073709551615", a_sint32 = -7, a_sint64 = math.mininteger,
  a_fixed32 = 4294967295, a_fixed64 = "9223372036854775808", a_sfixed32 = -11, a_sfixed64 = -12,
  a_bool = true, a_string = "é", some_bytes = "\0\255", color = "COLOR_BLUE",
  nested = { an_int32 = 1, nested = { a_string = ("x"):rep(300) } },
  numbers = { 1, 2, -3 }, texts = { "a", "", "b" }, children = { { an_int32 = 1 }, {} },
  by_name = { a = 1, b = 2 }, by_number = { [5] = { a_bool = true }, [-1] = {} }, by_flag = { [true] = "yes" },
  number_choice = 0, maybe = 0, at = 1700000000.25, lasting = -1.5,
  fields = { a = { 1, "x", true, json.null }, b = { c = 1 } }, any_value = { 1, 2 }, some_list = { "x", {} },
  wrapped_int64 = 0, wrapped_string = "", wrapped_bool = false,
  anything = { ["@type"] = "test.v1.Number", value = -5 }, colors = { "COLOR_RED", 77 }, unpacked = { 1, 2, 3 },
}

task { "echo", sequence = 1, function(user)
  for _, compression in ipairs { "identity", "gzip" } do
    local call = user:grpc(KINDS .. "Echo", ALL, { name = "echo", compression = compression })
    same(call.ok, true, call.error or "ok")
    local got = call.message
    for _, name in ipairs {
      "a_double", "a_float", "an_int32", "an_int64", "a_uint32", "a_uint64", "a_sint32", "a_sint64", "a_fixed32", "a_fixed64",
      "a_sfixed32", "a_sfixed64", "a_bool", "a_string", "some_bytes", "color", "number_choice", "maybe", "at", "lasting",
      "wrapped_int64", "wrapped_string", "wrapped_bool",
    } do
      same(got[name], ALL[name], name)
      same(math.type(got[name]), math.type(ALL[name]), name)
    end
    for _, name in ipairs { "numbers", "texts", "by_name", "colors", "unpacked", "any_value", "fields" } do
      same(json.encode(got[name]), json.encode(ALL[name]), name)
    end
    same(got.nested.nested.a_string, ("x"):rep(300), "nested")
    same(#got.children, 2, "a list of messages")
    same(got.by_number[5].a_bool, true, "by number")
    same(got.by_number[-1].a_bool, false, "a message without fields")
    same(got.by_flag[true], "yes", "by flag")
    same(got.text_choice, nil, "one of several")
    same(got.anything.value, -5, "any message")
    same(got.anything["@type"], "test.v1.Number", "its type")
    same(got.some_list[1], "x", "a list of anything")
  end
  local empty = user:grpc(KINDS .. "Echo", {}, { name = "empty" }).message
  same(empty.an_int32, 0, "what has no value")
  same(empty.a_string, "", "what has no value")
  same(empty.color, "COLOR_UNSPECIFIED", "what has no value")
  same(#empty.numbers, 0, "an empty list")
  same(empty.maybe, nil, "what may be there")
  same(empty.nested, nil, "a message that is not there")
  local long = user:grpc(KINDS .. "Echo", { a_string = ("x"):rep(3000000) }, { name = "long", max_buffer = 4000000 })
  same(#(long.message or { a_string = "" }).a_string, 3000000, long.error or "a long one")
end }

task { "statuses", sequence = 1, function(user)
  local names = {
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
    "UNAUTHENTICATED",
  }
  for code, name in ipairs(names) do
    local text = "no 100% größe\n" .. code
    local call = user:grpc(KINDS .. "Fail", { code = code, message = text }, { name = "fails" })
    same(call.ok, false, name)
    same(call.status, name, name)
    same(call.code, code, name)
    same(call.details, text, name)
    same(call.error, name, name)
    same(call.message, nil, name)
    same(user:grpc(KINDS .. "Fail", { code = code }, { name = "expected", expect = { status = { name } } }).ok, true, name)
  end
  local call = user:grpc(KINDS .. "Echo", {}, { name = "fails", expect = { status = "NOT_FOUND" } })
  same(call.error, "expected status NOT_FOUND, got OK", "expected")
end }

task { "deadlines", sequence = 1, function(user)
  -- On a connection that is open: over TLS, opening one may take longer.
  user:grpc(KINDS .. "Echo", {}, { name = "empty" })
  local call = user:grpc(KINDS .. "Sleep", { seconds = 30 }, { timeout = 0.1, name = "fails" })
  same(call.status, "DEADLINE_EXCEEDED", "unary")
  call = user:grpc_stream(KINDS .. "Count", { timeout = "500ms", name = "fails" })
  call:send { from = 1, to = 10000, pause = 0.02 }
  local count = 0
  for _ in call:messages() do count = count + 1 end
  same(call.status, "DEADLINE_EXCEEDED", "stream")
  same(count > 0, true, "some have come")
end }

task { "streams", sequence = 1, function(user)
  local call = user:grpc_stream(KINDS .. "Count", { name = "count" })
  same(call.status, nil, "it goes on")
  same(call:send { from = 1, to = 200 }, true, "sent")
  local sum = 0
  for message in call:messages() do sum = sum + message.value end
  same(sum, 20100, "all of them")
  same(call.status, "OK", "the end")
  same(call:receive(), nil, "nothing more")

  call = user:grpc_stream(KINDS .. "Sum", { name = "sum", compression = "gzip" })
  for value = 1, 100 do call:send({ value = value }, { compress = value % 2 == 0 }) end
  call:close_send()
  same(call:receive().value, 5050, "the sum")
  same(call.status, "OK", "the end")
  same(call.message.value, 5050, "the latest")
  same(call:send { value = 1 }, false, "it has ended")

  call = user:grpc_stream(KINDS .. "Double", { name = "double" })
  for value = -5, 5 do
    call:send { value = value }
    same(call:receive().value, 2 * value, "doubled")
  end
  same(call:receive { timeout = "20ms" }, nil, "none in time")
  call:close_send()
  same(call:receive(), nil, "the end")
  same(call.ok, true, call.error or "ok")

  call = user:grpc_stream(KINDS .. "Count", { name = "cancelled" })
  call:send { from = 1, to = 100000, pause = 0.01 }
  same(call:receive().value, 1, "one")
  call:close()
  same(call.status, "CANCELLED", "by the plan")
  same(call.ok, true, "which is no failure")
end }

task { "metadata", sequence = 1, function(user)
  local metadata = { ["x-one"] = "1", ["x-two"] = { "a", "b" }, ["x-three-bin"] = "\0\1\255" }
  local call = user:grpc(KINDS .. "Metadata", {}, { metadata = metadata, name = "metadata" })
  for _, got in ipairs { call.metadata, call.trailers } do
    same(got["X-One"], "1", "a text")
    same(got["x-two"], "a, b", "several")
  end
  same(call.trailers["x-three-bin"], "\0\1\255", "bytes")
  same(call.metadata["x-three-bin"], "\0\1\255", "bytes")
end }
