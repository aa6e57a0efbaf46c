-- Talks over sockets that open again by themselves while their server is started again and again.

task { "talk", function(user)
  local socket = user:websocket("/", { name = "echo", reconnect = { wait = 0.2 } })
  for number = 1, 40 do
    if socket:send("hello " .. number) then socket:receive { timeout = 2 } end
    user:wait(0.1)
  end
  socket:close()
end }
