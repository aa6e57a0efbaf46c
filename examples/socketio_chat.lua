-- Shows a chat over Socket.IO: each user joins a room, says something, which the server acknowledges, and hears the others.

local socketio = require "lgoose.socketio"

plan {
  host = "http://127.0.0.1:3000",
  users = 5,
  run_time = "10s",
  thresholds = { ["SIO say"] = { "p95 < 200ms", "failures < 1%" } },
}

local heard = metric.counter "heard"

task { "enter", on_start = true, function(user)
  local socket = socketio.connect(user, { auth = { token = env("TOKEN", "") }, timeout = "5s" })
  user.data.socket = socket
  -- It is called whenever the user waits.
  socket:on("said", function(from, text) heard:add() end)
  socket:request("join", "lobby")
end }

task { "talk", wait = { 0.5, 1 }, function(user)
  local socket = user.data.socket
  if not socket.ok then user:stop() end
  socket:emit("typing", true)
  local members = socket:request("say", "lobby", random.words(5))
  check(members and members > 0, "the room hears it")
end }

task { "leave", on_stop = true, function(user) user.data.socket:disconnect() end }

-- lgoose examples/socketio_chat.lua -H http://127.0.0.1:3000
