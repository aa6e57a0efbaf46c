-- gRPC's calls by Connect, against a server that did not come from here.

local test = require "test"
local same = test.same

grpc.load { "connect.proto", paths = { "protos" } }

local function say(user, message, more)
  local options = { protocol = "connect", name = "say" }
  for name, value in pairs(more or {}) do options[name] = value end
  return user:grpc("test.v1.Connected/Say", message, options)
end

task { "messages", function(user)
  local call = say(user, { text = "größer", id = -7, data = "\0\255" }, { metadata = { ["x-sent"] = "h" }, timeout = 5 })
  same(call.error, nil, "a call")
  same(call.ok and call.status, "OK", "its status")
  same(call.message.text .. call.message.id .. call.message.data, "größer-7\0\255", "its message")
  same(call.metadata["x-head"], "h", "metadata")
  same(call.trailers["x-end"], "true", "trailers, and a time that the server knows")
  same(say(user, {}).message.text, "", "an empty message")
  same(#say(user, { text = ("x"):rep(200000) }, { compression = "gzip" }).message.text, 200000, "a compressed message")
  same(say(user, '{"data": "AP8="}').message.data, "\0\255", "a text in JSON")
end }

task { "errors", function(user)
  local options = { protocol = "connect", name = "fail", expect = { status = "NOT_FOUND" } }
  local call = user:grpc("test.v1.Connected/Fail", { text = "why" }, options)
  same(call.error, nil, "a status that is expected")
  same(call.status .. ": " .. call.details, "NOT_FOUND: gone: café, 100 %", "its text")
  same(call.metadata["x-meta"], "m", "its metadata")
  same(call.error_details[1].text, "why", "its details")
  call = say(user, { text = ("x"):rep(5000) }, { max_buffer = 1000, name = "too long", expect = { status = "RESOURCE_EXHAUSTED" } })
  same(call.ok, true, tostring(call.error))
  call = user:grpc("test.v1.Connected/Fail", {}, { protocol = "connect", name = "failed" })
  same(call.error, "NOT_FOUND", "a status that is not")
  test.raises("option 'protocol' knows \"grpc\" and \"connect\"", say, user, {}, { protocol = "http" })
  test.raises("'web' and 'protocol' for ordinary requests", say, user, {}, { connection = "own" })
end }
