-- What a server of another package is sent, and what it returns. The variable PATHS names what it knows.

local function talk(socket)
  for n = 1, 50 do
    socket:send("message " .. n)
    socket:send_binary(string.char(n, 0, 255))
  end
  for n = 1, 50 do
    local text, bytes = socket:receive { timeout = 20 }, socket:receive { timeout = 20 }
    assert(text.data == "message " .. n and text.is_text, "text " .. n)
    assert(bytes.data == string.char(n, 0, 255) and not bytes.is_text, "bytes " .. n)
  end
  -- Lengths of all kinds, compressible and not.
  for _, length in ipairs { 4, 125, 126, 127, 65535, 65536, 300000 } do
    local text = ("é"):rep(length // 2) .. ("x"):rep(length % 2)
    assert(socket:ask(text, { name = "text", timeout = 20 }).data == text, "text of " .. length)
    local chance = random.string(length)
    assert(socket:ask(chance, { name = "chance", timeout = 20 }).data == chance, "chance of " .. length)
  end
  assert(socket:ask("", { name = "nothing", timeout = 20 }).data == "", "nothing")
end

task { "judged", function(user)
  -- A socket over HTTP/2 shares the connection of a page.
  if env("PAGE", "") ~= "" then user:get(env "PAGE") end
  for kind in env("PATHS"):gmatch "%S+" do
    local socket = user:websocket("/" .. kind, { name = kind, subprotocols = { "v1" }, max_buffer = 4000000 })
    assert(socket.ok, socket.error)
    local code = kind:match "close/(%d+)"
    if code then
      socket:send "close"
      socket:receive { timeout = 20 }
      assert(socket.close_code == tonumber(code), tostring(socket.close_code))
    else
      talk(socket)
      socket:close(3000 + #kind, "done")
      assert(socket.ok, socket.error)
    end
  end
end }
