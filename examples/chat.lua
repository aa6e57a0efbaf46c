-- Shows a WebSocket: it is opened once for each user, lives over the iterations, and times questions and their answers.

plan { host = "demo:api", users = 3, run_time = "10s", thresholds = { ["WS ping"] = "p95 < 200ms" } }

local function joined(message) return message:json "type" == "joined" end

task { "enter", on_start = true, function(user)
  user.data.chat = user:websocket("/api/chat", { name = "chat" })
  user.data.chat:ask({ type = "join", room = 1 }, { name = "join", match = joined })
end }

task { "talk", wait = { 0.2, 0.5 }, function(user)
  local chat, id = user.data.chat, random.int(1, 1000000)
  chat:send { type = "say", text = random.words(5) }
  local answer = chat:ask({ type = "ping", id = id }, {
    name = "ping",
    match = function(message) return message:json "type" == "pong" and message:json "id" == id end,
  })
  check(answer, "the room answers")
end }

task { "leave", on_stop = true, function(user) user.data.chat:close() end }

-- lgoose examples/chat.lua
