-- Shows a protocol of your own over TCP: a line that is sent, a line that comes back, and both together as a request.

plan { host = "demo:redis", users = 3, run_time = "10s", thresholds = { ["TIMED echo"] = "p95 < 100ms" } }

task { "connect", on_start = true, function(user)
  user.data.socket = user:tcp(user.host, { name = "lines" })
end }

task { "echo", wait = { 0.1, 0.2 }, function(user)
  local socket, word = user.data.socket, random.words(1)
  local answer = user:timed("echo", function()
    socket:send { "ECHO ", word, "\r\n" }
    local length, problem = socket:receive("line", { timeout = 5 })
    if not length then return nil, problem end
    return socket:receive "line"
  end)
  check(answer == word, "the word comes back")
end }

task { "leave", on_stop = true, function(user) user.data.socket:close() end }

-- lgoose examples/tcp.lua
