-- Messages of gRPC that are compressed, of lengths around those at which buffers and blocks end, with a server of another library.

local same = require("test").same

grpc.reflect()

local KINDS = {
  function(length) return random.bytes(length) end,
  function(length) return ("the same again "):rep(length // 15 + 1):sub(1, length) end,
  function(length) return random.bytes(length // 2) .. ("x"):rep(length - length // 2) end,
}

task { "gzip", function(user)
  for power = 0, 18 do
    for length = (1 << power) - 1, (1 << power) + 1 do
      local message = { some_bytes = random.choice(KINDS)(length) }
      local call = user:grpc("test.v1.Kinds/Echo", message, { name = "gzip", compression = "gzip" })
      same(call.ok, true, call.error or length)
      same(call.message.some_bytes == message.some_bytes, true, length .. " bytes")
    end
  end
end }
