-- A message of a WebSocket and its answer. What lgoose itself costs.

plan { host = "demo:api" }

task { "open", on_start = true, function(user)
  user.data.chat = user:websocket "/api/chat"
end }

task { "say", function(user)
  local chat = user.data.chat
  chat:send "hello"
  chat:receive()
end }

-- benches/footprint.sh runs it.
