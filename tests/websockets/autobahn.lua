-- Runs all cases that a server of Autobahn's test suite has, each of which is a WebSocket whose messages are to be returned.

task { "cases", function(user)
  local count = user:websocket("/getCaseCount", { name = "count", expect = { status = 101 } })
  local cases = tonumber(count:receive({ timeout = 60 }).data)
  for case = 1, cases do
    local socket = user:websocket("/runCase?agent=lgoose&case=" .. case, { name = "case", max_buffer = 33554432 })
    for message in socket:messages { timeout = 120 } do
      if message.is_text then socket:send(message.data) else socket:send_binary(message.data) end
    end
  end
  user:websocket("/updateReports?agent=lgoose", { name = "report" }):receive { timeout = 60 }
end }
