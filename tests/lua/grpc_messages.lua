-- gRPC: messages without a call, by grpc.encode and grpc.decode, and the details of a status.

local test = require "test"
local same, raises = test.same, test.raises

grpc.load { "kinds.proto", "extended.proto", paths = { "protos" } }

same(grpc.encode("test.v1.Number", { value = -2 }), "\8\3", "at the top level")
same(grpc.decode("test.v1.Number", "\8\3").value, -2, "at the top level")
same(grpc.decode("google.protobuf.Duration", grpc.encode("google.protobuf.Duration", 1.5)), 1.5, "a type of Google's")
same(grpc.encode("test.v1.All"), "", "without a value")
same(grpc.decode("test.v1.Number", "\8\3\122\2xy\16\7").value, -2, "fields that the type lacks")
same(grpc.encode("test.v1.Number", '{"value": -2}'), "\8\3", "a text in JSON")
same(grpc.decode("test.v1.All", grpc.encode("test.v1.All", '{"someBytes": "AP8="}')).some_bytes, "\0\255", "base64 in JSON")
same(grpc.decode("test.v1.All", grpc.encode("test.v1.All", '{"someBytes": "_-8"}')).some_bytes, "\255\239", "of the other alphabet")
raises("field 'some_bytes' must be base64", grpc.encode, "test.v1.All", '{"someBytes": "?"}')
raises("the message is neither a table of the fields of test.v1.Number nor JSON: ", grpc.encode, "test.v1.Number", "{oops")
raises("there is no message 'test.v1.Numbre'; did you mean \"test.v1.Number\"?", grpc.encode, "test.v1.Numbre", {})
raises("there is no message 'Number'; did you mean \"test.v1.Number\"?", grpc.decode, "Number", "")
raises("there is no message 'x.Unlike' in the schemas of the plan", grpc.decode, "x.Unlike", "")
raises("grpc.encode: the type must be a name such as \"shop.Item\", not a table", grpc.encode, {}, {})
raises("the bytes must be a string, not nil", grpc.decode, "test.v1.Number")
raises("the bytes are not a message of test.v1.Number", grpc.decode, "test.v1.Number", "\8")
raises("there is no field '[test.v6.nte]'", grpc.encode, "test.v6.Base", { ["[test.v6.nte]"] = "x" })
raises("there is no field '[test.v6.note]'", grpc.encode, "test.v1.Number", { ["[test.v6.note]"] = "x" })
raises("field '[test.v6.note]' must be a text in UTF-8, not a number", grpc.encode, "test.v6.Base", { ["[test.v6.note]"] = 1 })
raises("there is no field 'valu'; did you mean 'value'?", grpc.encode, "test.v1.Number", { valu = 1 })

local ALL, BASE, CODED = "test.v1.All", "test.v6.Base", { name = "judge" }

-- Some messages, and what they are in JSON for another library.
local MESSAGES = {
  { {}, "{}" },
  { { by_name = { a = 1, b = 0 }, by_number = { [5] = { a_bool = true }, [-1] = {} }, by_flag = { [true] = "yes" } },
    [[{"by_flag": {"true": "yes"}, "by_name": {"a": 1, "b": 0}, "by_number": {"-1": {}, "5": {"a_bool": true}}}]] },
  { { number_choice = 0 }, [[{"number_choice": 0}]] },
  { { message_choice = { text_choice = "" } }, [[{"message_choice": {"text_choice": ""}}]] },
  { { color = "COLOR_BLUE", colors = { "COLOR_RED", 77 } }, [[{"color": "COLOR_BLUE", "colors": ["COLOR_RED", 77]}]] },
  { { nested = { nested = { a_string = "é" }, children = { {}, { an_int64 = math.mininteger } } }, maybe = 0 },
    [[{"maybe": 0, "nested": {"children": [{}, {"an_int64": "-9223372036854775808"}], "nested": {"a_string": "\u00e9"}}}]] },
  { { a_uint64 = "18446744073709551615", some_bytes = "\0\255", at = 1.5, lasting = -1, wrapped_int64 = 0 },
    [[{"a_uint64": "18446744073709551615", "at": "1970-01-01T00:00:01.500Z", "lasting": "-1s", "some_bytes": "AP8=", "wrapped_int64": "0"}]] },
  { { anything = { ["@type"] = "test.v1.Number", value = -5 }, fields = { a = { 1, json.null } } },
    [[{"anything": {"@type": "type.googleapis.com/test.v1.Number", "value": "-5"}, "fields": {"a": [1.0, null]}}]] },
  { { own = 1, ["[test.v6.note]"] = "", ["[test.v6.loose]"] = { 1, 300 }, ["[test.v6.packed]"] = { 2, 301 } },
    [[{"[test.v6.loose]": [1, 300], "[test.v6.note]": "", "[test.v6.packed]": [2, 301], "own": 1}]], BASE },
  { { inner = { ["[test.v6.deeper]"] = { own = 0 }, ["[test.v6.part]"] = { flag = true } } },
    [[{"inner": {"[test.v6.deeper]": {"own": 0}, "[test.v6.part]": {"flag": true}}}]], BASE },
  { { ["[test.v6.Holder.many]"] = { { own = 1 }, { ["[test.v6.note]"] = "x" } } },
    [[{"[test.v6.Holder.many]": [{"own": 1}, {"[test.v6.note]": "x"}]}]], BASE },
}

task { "messages", sequence = 1, function(user)
  local function judge(type, request)
    request.type = type
    local call = user:grpc("test.v1.Kinds/Judge", request, CODED)
    same(call.error, nil, "judge")
    return call.message
  end
  for place, case in ipairs(MESSAGES) do
    local value, text, type = case[1], case[2], case[3] or ALL
    local bytes = grpc.encode(type, value)
    same(judge(type, { bytes = bytes }).json, text, "encoded, " .. place)
    local theirs = judge(type, { json = text })
    same(theirs.json, text, "their own, " .. place)
    local decoded = grpc.decode(type, theirs.bytes)
    same(grpc.encode(type, decoded), grpc.encode(type, grpc.decode(type, bytes)), "decoded, " .. place)
    -- With a field that the type does not have, which the other library keeps.
    local unknown = judge(type, { bytes = bytes .. "\250\63\1x" }).bytes
    same(unknown:find("\250\63\1x", 1, true) ~= nil, true, "kept, " .. place)
    same(grpc.encode(type, grpc.decode(type, unknown)), grpc.encode(type, decoded), "unknown, " .. place)
  end
end }

-- As grpcio-status 1.76 writes a google.rpc.Status with each usual detail and some others.
local STATUS = "CAUSBGdvbmUaVAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLkVycm9ySW5mbxIoCgRHT05FEgxzaG9wLmV4YW1wbGUaCQoEem9uZRIBYRoHCgJp" ..
  "ZBIBNxo2Cih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuUmV0cnlJbmZvEgoKCAgBEIDKte4BGjUKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xl" ..
  "LnJwYy5EZWJ1Z0luZm8SCQoBYQoBYhIBZBpNCit0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuUXVvdGFGYWlsdXJlEh4KHAoBcxIBZBoBeCIBbSoB" ..
  "cTIHCgFyEgJldTgFQAAaQwoydHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlByZWNvbmRpdGlvbkZhaWx1cmUSDQoLCgNUT1MSAXUaAWQaVAopdHlw" ..
  "ZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLkJhZFJlcXVlc3QSJwolCg1pdGVtc1swXS5uYW1lEgVlbXB0eRoBUiIKCgJkZRIEbGVlcho1Cip0eXBlLmdv" ..
  "b2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuUmVxdWVzdEluZm8SBwoCcjESAWQaOwordHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJlc291cmNlSW5m" ..
  "bxIMCgF0EgFuGgFvIgFkGi8KI3R5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5IZWxwEggKBgoBZBIBdRo9Ci90eXBlLmdvb2dsZWFwaXMuY29tL2dv" ..
  "b2dsZS5ycGMuTG9jYWxpemVkTWVzc2FnZRIKCgJlbhIEZ29uZRo5Ci90eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5wcm90b2J1Zi5TdHJpbmdWYWx1ZRIG" ..
  "CgR0ZXh0GigKInR5cGUuZ29vZ2xlYXBpcy5jb20vdGVzdC52MS5OdW1iZXISAggDGhwKFmV4YW1wbGUuY29tL290aGVyLlR5cGUSAgH/GikKI3R5cGUuZ29v" ..
  "Z2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5IZWxwEgL//w=="

task { "details", sequence = 2, function(user)
  local function fail(details, web)
    local options = { name = "details", expect = { status = "NOT_FOUND" } }
    return user:grpc("test.v1.Kinds/Fail", { code = 5, message = "gone", details = details }, options)
  end
  local call = fail(base64.decode(STATUS))
  same(call.ok, true, tostring(call.error))
  same(call.details, "gone", "text")
  local details, types = call.error_details, {}
  for _, detail in ipairs(details) do types[#types + 1] = detail["@type"]:gsub("^google%.rpc%.", "") end
  same(table.concat(types, " "), "ErrorInfo RetryInfo DebugInfo QuotaFailure PreconditionFailure BadRequest RequestInfo "
    .. "ResourceInfo Help LocalizedMessage google.protobuf.StringValue test.v1.Number other.Type Help", "types")
  local info, retry, debug, quota, precondition, bad, request, resource, help, localized, text, own, other, broken = table.unpack(details)
  same(info.reason .. info.domain .. info.metadata.id .. info.metadata.zone, "GONEshop.example7a", "ErrorInfo")
  same(retry.retry_delay, 1.5, "RetryInfo")
  same(table.concat(debug.stack_entries) .. debug.detail, "abd", "DebugInfo")
  local one = quota.violations[1]
  same(one.subject .. one.description .. one.api_service .. one.quota_metric .. one.quota_id, "sdxmq", "QuotaFailure")
  same(one.quota_dimensions.r .. one.quota_value .. one.future_quota_value, "eu50", "QuotaFailure")
  one = precondition.violations[1]
  same(one.type .. one.subject .. one.description, "TOSud", "PreconditionFailure")
  one = bad.field_violations[1]
  same(one.field .. one.description .. one.reason .. one.localized_message.message, "items[0].nameemptyRleer", "BadRequest")
  same(request.request_id .. request.serving_data, "r1d", "RequestInfo")
  same(resource.resource_type .. resource.resource_name .. resource.owner .. resource.description, "tnod", "ResourceInfo")
  same(help.links[1].description .. help.links[1].url, "du", "Help")
  same(localized.locale .. localized.message, "engone", "LocalizedMessage")
  same(text.value, "text", "StringValue")
  same(own.value, -2, "a type of the plan's")
  same(other.value, "\1\255", "an unknown type")
  same(broken.value, "\255\255", "bytes that are no such message")
  same(#fail("").error_details, 0, "none")
  local wrong = fail("\255").error_details
  same(#wrong, 1, "no status")
  same(wrong[1]["@type"] .. wrong[1].value, "google.rpc.Status\255", "no status")
  call = user:grpc("test.v1.Kinds/Echo", {}, { name = "details" })
  same(#call.error_details, 0, "of a success")
  local stream = user:grpc_stream("test.v1.Kinds/Count", { name = "details" })
  same(#stream.error_details, 0, "of an open call")
  stream:close()
end }

task { "connections", sequence = 3, function(user)
  for _, connection in ipairs { "user", "own", "shared", "user", "own", "shared" } do
    local options = { name = connection, connection = connection }
    local call = user:grpc("test.v1.Kinds/Echo", { an_int32 = 7 }, options)
    same(call.error, nil, connection)
    same(call.message.an_int32, 7, connection)
    local stream = user:grpc_stream("test.v1.Kinds/Double", options)
    stream:send { value = 4 }
    same(stream:receive().value, 8, connection)
    stream:close_send()
    same(stream:receive(), nil, connection)
    same(stream.error, nil, connection)
  end
end }
