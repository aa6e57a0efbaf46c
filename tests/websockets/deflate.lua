-- Messages of lengths around those at which buffers, blocks and windows of DEFLATE end, compressible and not, each of which a server
-- of another package has to read and to return. COUNT of them have a random length.

-- The lengths of Autobahn's cases 12.* and 13.*, and what is beside them and others of their kind.
local LENGTHS = { 0, 1, 2, 125, 126, 127 }
for _, border in ipairs {
  16, 64, 256, 1024, 4096, 8192, 16384, 31744, 32768, 49152, 63488, 65536, 81920, 98304, 131072,
} do
  for length = border - 1, border + 1 do
    LENGTHS[#LENGTHS + 1] = length
  end
end
for _ = 1, tonumber(env "COUNT") do
  LENGTHS[#LENGTHS + 1] = random.int(0, 100000)
end

local KINDS = {
  function(length) return base64.encode(random.bytes(length)):sub(1, length) end,
  function(length) return random.string(length) end,
  function(length) return (" the same again"):rep(length // 15 + 1):sub(1, length) end,
  function(length) return random.string(length // 2) .. ("é"):rep(length // 4) .. ("x"):rep(length % 4) end,
  function(length) return random.bytes(length), true end,
}

task { "deflated", function(user)
  for kind in env("PATHS"):gmatch "%S+" do
    local socket = user:websocket("/" .. kind, { name = kind, subprotocols = { "v1" }, max_buffer = 4000000 })
    assert(socket.ok, socket.error)
    for _, length in ipairs(LENGTHS) do
      local data, is_binary = random.choice(KINDS)(length)
      if is_binary then socket:send_binary(data) else socket:send(data) end
      local back = socket:receive { timeout = 60 }
      assert(back, socket.error)
      assert(back.data == data and back.is_text == not is_binary, "a message of " .. #data .. " bytes came back otherwise")
    end
    socket:close(1000)
    assert(socket.ok, socket.error)
  end
end }
