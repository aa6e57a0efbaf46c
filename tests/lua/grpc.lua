-- gRPC: what a server does wrong is a failure with a status, and what a plan does wrong raises.

local test = require "test"
local same, raises = test.same, test.raises

raises("grpc.load has no file", grpc.load, {})
raises("'nope.proto' is not in '.' of the plan's folder", grpc.load, "nope.proto")
raises("unknown option 'path' in grpc.load; did you mean 'paths'?", grpc.load, { "kinds.proto", path = {} })
raises("'kinds.proto' is not in '.'", grpc.load, { "kinds.proto" })
raises("broken.proto:4:3: ", grpc.load, { "broken.proto", paths = { "protos/wrong" } })
raises(
  "'protos/wrong/edition.proto' has edition 2024 of Protocol Buffers, and lgoose reads proto2, proto3 and edition 2023",
  grpc.load, { "imports.proto", paths = { "protos/wrong" } }
)
raises(
  "'map.proto' has the map entry 'Entry' without a key and a value",
  grpc.load, { "map.proto", paths = { "protos/wrong" } }
)
raises("which 'protos/wrong/import.proto' imports,", grpc.load, { "import.proto", paths = { "protos/wrong" } })

grpc.load { "kinds.proto", paths = { "protos" } }

local KINDS = "test.v1.Kinds/"

-- What the server does wrong, by the metadata that it goes by, with the status and a part of the error.
local FAULTS = {
  { "trailers-only", "NOT_FOUND", "NOT_FOUND" },
  { "http-404", "UNIMPLEMENTED", "UNIMPLEMENTED: HTTP status 404" },
  { "http-401", "UNAUTHENTICATED", "HTTP status 401" },
  { "http-403", "PERMISSION_DENIED", "HTTP status 403" },
  { "http-400", "INTERNAL", "HTTP status 400" },
  { "http-429", "UNAVAILABLE", "HTTP status 429" },
  { "http-503", "UNAVAILABLE", "HTTP status 503" },
  { "http-500", "UNKNOWN", "HTTP status 500" },
  { "http-302", "UNKNOWN", "HTTP status 302" },
  { "html", "UNKNOWN", "not of gRPC" },
  { "no-trailers", "UNKNOWN", "no trailers with a status" },
  { "no-status", "UNKNOWN", "no trailers with a status" },
  { "bad-status", "UNKNOWN", "is not a number" },
  { "strange-status", "UNKNOWN", "status 99" },
  { "half-message", "INTERNAL", "ends within a message" },
  { "half-head", "INTERNAL", "ends within a message" },
  { "no-message", "INTERNAL", "has no message" },
  { "two-messages", "INTERNAL", "more than one message" },
  { "flags", "INTERNAL", "flags that gRPC does not know" },
  { "long", "RESOURCE_EXHAUSTED", "longer than 4.00 MiB" },
  { "bomb", "RESOURCE_EXHAUSTED", "longer than 4.00 MiB" },
  { "no-gzip", "INTERNAL", "is not gzip" },
  { "unknown-coding", "INTERNAL", "by a method that lgoose has not offered" },
  { "no-coding", "INTERNAL", "no 'grpc-encoding' says how" },
  { "no-protobuf", "INTERNAL", "is not a message of test.v1.All" },
  { "reset-0", "INTERNAL", "" },
  { "reset-2", "INTERNAL", "" },
  { "reset-7", "UNAVAILABLE", "" },
  { "reset-8", "CANCELLED", "" },
  { "reset-11", "RESOURCE_EXHAUSTED", "" },
  { "reset-12", "PERMISSION_DENIED", "" },
  { "reset-after-message", "INTERNAL", "" },
  { "goaway", "UNAVAILABLE", "" },
  { "close", "UNAVAILABLE", "" },
}

task { "faults", sequence = 1, function(user)
  for _, fault in ipairs(FAULTS) do
    local name, status, error = table.unpack(fault)
    local options = { name = "fails", metadata = { ["x-fault"] = name } }
    local call = user:grpc(KINDS .. "Echo", { an_int32 = 7 }, options)
    same(call.status, status, name .. " (" .. tostring(call.error) .. ")")
    same(call.ok, false, name)
    same(call.error:find(status, 1, true), 1, name .. ": " .. call.error)
    if not call.error:find(error, 1, true) then same(call.error, error, name) end
    same(call.message, nil, name)
    same(user:grpc(KINDS .. "Echo", { an_int32 = 7 }, { name = "good" }).message.an_int32, 7, "after " .. name)
  end
  local call = user:grpc(KINDS .. "Echo", {}, { name = "fails", metadata = { ["x-fault"] = "silent" }, timeout = 0.05 })
  same(call.status, "DEADLINE_EXCEEDED", "silent")
  same(call.error, "DEADLINE_EXCEEDED: timeout", "silent")
  call = user:grpc(KINDS .. "Echo", {}, { name = "good", metadata = { ["x-fault"] = "silent" }, timeout = 0.05, expect = { status = 4 } })
  same(call.ok, true, "as expected")
  call = user:grpc(KINDS .. "Echo", {}, { name = "good", metadata = { ["x-fault"] = "refused-once" } })
  same(call.ok, true, "what the server has not seen is sent again")
  call = user:grpc(KINDS .. "Echo", { some_bytes = ("x"):rep(200000) }, { name = "good", web = false })
  same(#call.message.some_bytes, 200000, "more than a window")
end }

task { "streams", sequence = 2, function(user)
  local function count(fault, options)
    options.metadata, options.name = { ["x-fault"] = fault }, options.name or "fails"
    local call = user:grpc_stream(KINDS .. "Count", options)
    call:send { from = 1, to = 2 }
    return call
  end
  local call = count("endless", { name = "closed" })
  for _ = 1, 100 do same(call:receive().value, 1, "one") end
  call:close()
  same(call.status, "CANCELLED", "closed")
  -- Whoever reads slowly slows the server down.
  call = count("endless", { name = "closed", max_buffer = 1000 })
  user:wait(0.1)
  for _ = 1, 10000 do same(call:receive().value, 1, "one of many") end
  call:close()
  same(call.status, "CANCELLED", tostring(call.error))
  for _, fault in ipairs { "half-message", "no-trailers", "no-protobuf", "flags", "reset-2", "reset-after-message", "close" } do
    call = count(fault, {})
    for _ in call:messages() do end
    same(call.ok, false, fault)
  end
  call = count("silent", { timeout = "50ms" })
  same(call:receive(), nil, "silent")
  same(call.status, "DEADLINE_EXCEEDED", "silent")
  call = count("silent", { name = "closed" })
  same(call:receive { timeout = "20ms" }, nil, "silent")
  same(call.status, nil, "it goes on")
  call:close()
  -- One that is open ends with its user.
  user.data.call = count("silent", { name = "open" })
end }

task { "mistakes", sequence = 3, function(user)
  local function raised(part, message) raises(part, user.grpc, user, KINDS .. "Echo", message) end
  raised("there is no field 'a_dubble'; did you mean 'a_double'?", { a_dubble = 1 })
  raised("there is no field 'nested.nested.x'", { nested = { nested = { x = 1 } } })
  raised("field 'children[2].an_int32' must be a whole number from -2147483648 to 2147483647, not \"x\"", { children = { {}, { an_int32 = "x" } } })
  raised("field 'an_int32' must be a whole number from -2147483648 to 2147483647, not 1099511627776", { an_int32 = 1 << 40 })
  raised("field 'a_uint64' must be a whole number of at least 0", { a_uint64 = -1 })
  raised("has no \"COLOR_RD\"; did you mean \"COLOR_RED\"?", { color = "COLOR_RD" })
  raised("has 'text_choice' and 'number_choice', and may have one of 'choice'", { text_choice = "a", number_choice = 1 })
  raised("field 'numbers' must be a list, not a number", { numbers = 3 })
  raised("field 'a_string' must be a text in UTF-8", { a_string = "\255" })
  raised("field 'by_number' has 'x'", { by_number = { x = {} } })
  raised("there is no message 'test.v1.None'", { anything = { ["@type"] = "test.v1.None" } })
  local circle = {}
  circle.nested = circle
  raised("nested too deeply", circle)
  raises("there is no method 'test.v1.Kinds/Ecko'; did you mean \"test.v1.Kinds/Echo\"?", user.grpc, user, KINDS .. "Ecko")
  raises("has streams of messages: call it by user:grpc_stream", user.grpc, user, KINDS .. "Count")
  raises("has one request and one response: call it by user:grpc", user.grpc_stream, user, KINDS .. "Echo")
  local function option(part, options) raises(part, user.grpc, user, KINDS .. "Echo", {}, options) end
  option("unknown option 'metdata'", { metdata = {} })
  option("gRPC has no status \"not_found\"; did you mean \"NOT_FOUND\"?", { expect = { status = "not_found" } })
  option("keeps names that begin with 'grpc-'", { metadata = { ["grpc-timeout"] = "1" } })
  option("knows \"gzip\"", { compression = "snappy" })
  option("option 'connection' knows \"user\", \"own\" and \"shared\", not \"pool\"", { connection = "pool" })
  option("option 'connection' is for calls over gRPC's own protocol", { connection = "own", web = true })
  raises("a stream by gRPC-Web sends its message with the call", user.grpc_stream, user, KINDS .. "Count", { web = true })
  local call = user:grpc(KINDS .. "Echo", {}, { name = "good" })
  raises("'call.mesage' does not exist; did you mean 'message'?", function() return call.mesage end)
end }
