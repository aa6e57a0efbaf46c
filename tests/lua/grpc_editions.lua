-- gRPC with a server that describes services which lgoose cannot read beside some that it can.

local same = require("test").same

grpc.reflect()

task { "read", sequence = 1, function(user)
  for _, method in ipairs { "test.v1.Kinds/Echo", "test.v4.Beside/Echo" } do
    local call = user:grpc(method, {}, { name = "read" })
    same(call.ok, true, method .. ": " .. tostring(call.error))
  end
end }

local EDITION = "has edition 2024 of Protocol Buffers, and lgoose reads proto2, proto3 and edition 2023"
local LOAD = "; 'grpc.load' takes a schema from a file instead"

local UNREAD = {
  ["test.v2.Editions/Echo"] = "INTERNAL: 'edition.proto' " .. EDITION .. LOAD,
  ["test.v3.Mixed/Echo"] = "INTERNAL: 'mixed.proto' is wrong: name '.test.v2.Text' is not defined; it lacks 'edition.proto', which "
    .. EDITION .. LOAD,
  ["test.v1.Lost/Echo"] = "INTERNAL: the server does not describe 'test.v1.Lost': ",
  ["test.v1.Refused/Echo"] = "INTERNAL: the server does not describe 'test.v1.Refused': INTERNAL" .. LOAD,
  ["test.v1.Garbled/Echo"] = "INTERNAL: a description that the server has sent cannot be decoded: ",
}

task { "unread", sequence = 2, function(user)
  for method, reason in pairs(UNREAD) do
    local call = user:grpc(method, { text = "x" }, { name = "unread" })
    local stream = user:grpc_stream(method, { name = "unread" })
    same(stream:send { text = "x" }, false, "sent")
    same(stream:receive(), nil, "received")
    for _, one in ipairs { call, stream } do
      same(one.ok, false, method)
      same(one.status, "INTERNAL", method)
      same(one.message, nil, method)
      same(one.error:sub(1, #reason), reason, method)
    end
  end
end }
