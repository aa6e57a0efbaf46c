-- Plain sockets: TCP, TLS and UDP, what is received, how they end, and functions that are timed.

local test = require "test"
local same, raises = test.same, test.raises
local TLS, UDP = env "TLS", env "UDP"

-- Opens a connection on which the server does what that line says.
local function opened(user, line, options, secure)
  options = options or { name = line }
  if secure then options.server_name = "judge.test" end
  local socket = secure and user:tls(TLS, options) or user:tcp(nil, options)
  same(socket.ok, true, "open")
  same(socket:send(line .. "\n"), true, "sent")
  return socket
end

task { "messages", sequence = 1, function(user)
  local socket = opened(user, "echo")
  same(socket.error, nil, "no error")
  socket:send { "hel", "lo\r\n", "\0\255\n", "12345", "head: 1\r\n\r\nrest" }
  same(socket:receive "line", "hello", "without its end")
  same(socket:receive "line", "\0\255", "any bytes")
  same(socket:receive(0), "", "no bytes")
  same(socket:receive(3), "123", "so many bytes")
  same(socket:receive(2, { timeout = 5 }), "45", "more of them")
  same(socket:receive { until_ = "\r\n\r\n", max = 100, timeout = "5s" }, "head: 1", "until then")
  same(socket:receive(2), "re", "the rest")
  same(socket:receive "some", "st", "is what is there")
  local value, reason = socket:receive("line", { timeout = "20ms" })
  same(value, nil, "nothing in time")
  same(reason, "timeout", "says so")
  same(socket.ok, true, "that is no end")
  local long = ("x"):rep(300000)
  socket:send { long, "\n" }
  same(#socket:receive "line", 300000, "a long line")
  socket:send(("y"):rep(1000000))
  same(#socket:receive(1000000), 1000000, "as much as fits")
  same(user:get("/page", { name = "page" }).ok, false, "this is no site")
  socket:close()
  same(socket.ok, true, "a close that the plan wants is no failure")
  value, reason = socket:send "more"
  same(value, nil, "it is closed")
  same(reason, "closed early: the plan has closed the socket", "says so")
  same(select(2, socket:receive "line"), reason, "and gives nothing")
  socket:close()
  same(tostring(socket):match "^socket to 127.0.0.1:%d+$" ~= nil, true, "as text")
end }

-- Faults that a connection may have, with TLS or without.
local function faults(user, secure)
  local function opens(line, options) return opened(user, line, options, secure) end
  local lines = opens "lines 500"
  for n = 1, 500 do same(lines:receive "line", tostring(n), "in order") end
  same(select(2, lines:receive "line"), "closed early: the peer has closed the connection", "the end")
  same(lines.ok, false, "it is over")
  same(opens "lines 3":receive "all", "1\r\n2\r\n3\r\n", "all of it")
  local pieces = opens "pieces"
  same(pieces:receive { until_ = "--end--" }, "-a--b--en", "however it comes")
  same(pieces:receive "line", "line", "a line in pieces")
  local half = opens "half"
  same(half:receive "line", nil, "no line")
  same(half.error, "closed early: the peer has closed the connection amid a message", "half a message")
  same(half:receive "all", "half a li", "can be taken all the same")
  local reset = opens "reset"
  local _, reason = reset:receive(100)
  same(reason, "connection reset", "a reset")
  same(reset.error, reason, "stays")
  same(select(2, reset:send "x"), reason, "whatever comes after")
  same(opens "closed":receive "all", "", "closed at once")
  for _, what in ipairs { "line", "all" } do
    local endless = opens("endless", { name = "endless", max_buffer = 100000 })
    same(select(2, endless:receive(what)):match "^[^:]+", "too large", "no end of " .. what)
    same(endless.ok, false, "is a failure")
  end
  local short = opens("lines 1000", { name = "short" })
  same(select(2, short:receive("line", { max = 2 })), nil, "9 and so on are short")
  for _ = 2, 99 do short:receive "line" end
  same(select(2, short:receive("line", { max = 2 })), "too large: a line is longer than 'max'", "100 is not")
  local silent = opens "silent"
  same(select(2, silent:receive("some", { timeout = 0.05 })), "timeout", "silence")
  local deaf = opens("deaf", { name = "deaf" })
  same(select(2, deaf:send(("x"):rep(20000000), { timeout = 0.2 })), "timeout", "nobody reads")
  same(deaf.error, "timeout", "and half of it was sent")
end

task { "ends of connections", sequence = 2, function(user)
  faults(user, false)
  faults(user, true)
  local refused = user:tcp("127.0.0.1:1", { name = "refused" })
  same(refused.ok, false, "nobody is there")
  same(refused.error, "connection refused: 127.0.0.1:1", "says so")
  same(select(2, refused:send "x"), refused.error, "send says it")
  same(select(2, refused:receive "line"), refused.error, "receive says it")
  same(user:tcp("nowhere.invalid:25", { name = "unknown" }).error, "dns: cannot look up 'nowhere.invalid'", "no such host")
end }

task { "TLS", sequence = 3, function(user)
  local socket = user:tls(TLS, { name = "tls", server_name = "judge.test" })
  same(socket.ok, true, socket.error)
  socket:send "echo\n"
  socket:send "over TLS\n"
  same(socket:receive "line", "over TLS", "an echo")
  socket:send(("z"):rep(500000))
  same(#socket:receive(500000), 500000, "much of it")
  socket:close()
  same(user:tcp(TLS, { name = "tls", tls = true, server_name = "judge.test" }).ok, true, "the same")
  same(user:tls(TLS, { name = "wrong name", server_name = "other.test" }).error, "tls: the certificate is not for 'other.test'", "judged")
  same(user:tls(nil, { name = "no TLS", server_name = "judge.test" }).error:match "^%a+", "tls", "a server without")
  local upgraded = opened(user, "starttls")
  same(upgraded:receive "line", "go", "go ahead")
  same(upgraded:start_tls { server_name = "judge.test" }, true, "with TLS from now on")
  upgraded:send "secret\n"
  same(upgraded:receive "line", "secret", "an echo")
  raises("the socket has TLS already", upgraded.start_tls, upgraded)
  local early = opened(user, "lines 10", { name = "early" })
  early:receive "line"
  same(early:start_tls(), nil, "what has come would be taken for more")
  same(early.error, "protocol: the peer has sent more before the TLS handshake", "says so")
  local wrong = opened(user, "starttls", { name = "wrong name" })
  wrong:receive "line"
  same(select(2, wrong:start_tls()), "tls: the certificate is not for '127.0.0.1'", "of the host")
end }

task { "UDP", sequence = 4, function(user)
  local socket = user:udp(UDP, { name = "udp" })
  same(socket.ok, true, socket.error)
  for _, length in ipairs { 1, 0, 1400, 60000 } do
    same(socket:send(("x"):rep(length)), true, "sent")
    same(#socket:receive { timeout = 5 }, length, "one by one")
  end
  socket:send { "a", "b" }
  same(socket:receive(), "ab", "one datagram")
  socket:send "silence"
  same(select(2, socket:receive { timeout = "20ms" }), "timeout", "lost")
  same(socket.ok, true, "as may be")
  socket:close()
  same(select(2, socket:send "x"), "closed early: the plan has closed the socket", "closed")
  local refused = user:udp("127.0.0.1:1", { name = "nobody" })
  refused:send "x"
  -- Not every kernel says so.
  same(refused:receive { timeout = "50ms" }, nil, "nobody there")
end }

task { "over tasks", sequence = 5, function(user)
  user.data.socket = opened(user, "echo", { name = "kept" })
  user.data.socket:send "from one task\n"
end }

task { "over tasks, again", sequence = 6, function(user)
  same(user.data.socket:receive "line", "from one task", "to another")
  local small = { name = "many", max_buffer = 1000 }
  for _ = 1, 150 do user:tcp(nil, small):close() end
  local all = {}
  for n = 1, 99 do all[n] = user:tcp(nil, small) end
  raises("the user has 100 streams and sockets open: close some", user.tcp, user, nil, small)
  all = nil
  same(user:tcp(nil, small).ok, true, "those that the plan has let go of are closed")
end }

task { "used by several at once", sequence = 7, function(user)
  local socket = opened(user, "echo", { name = "shared" })
  local lines, bytes = {}, 0
  -- The buffer of the connection is full again and again: who sends receives meanwhile, and wakes who waits for that.
  local reader = user:spawn(function()
    for n = 1, 300 do
      local line = socket:receive "line"
      lines[n], bytes = line:sub(1, 3), bytes + #line
    end
  end)
  for n = 1, 300 do socket:send(("%03d"):format(n) .. ("x"):rep(100000) .. "\n") end
  reader:join()
  same(lines[1] .. lines[300], "001300", "in order")
  same(bytes, 300 * 100003, "all of them")
  local others = {}
  for n = 1, 5 do others[n] = user:spawn(function() return socket:receive "line" end) end
  user:wait(0)
  socket:send "1\n2\n3\n4\n5\n"
  local all = {}
  for n = 1, 5 do all[n] = others[n]:join() end
  table.sort(all)
  same(table.concat(all), "12345", "each has one")
  local closed = user:spawn(function() return socket:receive "line" end)
  local cancelled = user:spawn(function() return socket:receive "line" end)
  user:wait(0)
  cancelled:cancel()
  cancelled:join()
  socket:close()
  same(select(2, closed:join()), "closed early: the plan has closed the socket", "who waits is woken")
  local datagrams = user:udp(UDP, { name = "shared datagrams" })
  local receivers = {}
  for n = 1, 3 do receivers[n] = user:spawn(function() return datagrams:receive() end) end
  user:wait(0)
  for n = 1, 3 do datagrams:send(tostring(n)) end
  local sum = 0
  for n = 1, 3 do sum = sum + tonumber(receivers[n]:join()) end
  same(sum, 6, "each has a datagram")
end }

task { "timed", sequence = 8, function(user)
  local socket = opened(user, "echo", { name = "timed" })
  local function asks(text) return function()
    socket:send(text .. "\n")
    return socket:receive("line", { timeout = "50ms" })
  end end
  local one, two, three = user:timed("three", function(...) return select("#", ...), 2, 3 end)
  same(table.concat({ one, two, three }, " "), "1 2 3", "what the function returns")
  same(user:timed("ask", asks "one"), "one", "an answer")
  same(user:timed("ask", asks "two", { kind = "ECHO", tags = { way = "there" } }), "two", "with a kind and tags")
  same(select(2, user:timed("reason", function() return nil, "not what it should be" end)), "not what it should be", "a reason")
  same(user:timed("nothing", function() end), nil, "nothing is no failure")
  same(user:timed("failed", function() socket:receive(1, { timeout = "10ms" }) end), nil, "unless a socket has failed")
  same(user:timed("handled", function()
    socket:receive(1, { timeout = "10ms" })
    return true
  end), true, "and the function has not seen to it")
  raises("what has gone wrong", user.timed, user, "raised", function() error "what has gone wrong" end)
  raises("user:timed within user:timed", user.timed, user, "outer", function() user:timed("inner", function() end) end)
  same(user:timed("again", function() return 1 end), 1, "that harms nothing")
  local half = opened(user, "half", { name = "half, timed" })
  same(user:timed("half", function() return half:receive "line" end), nil, "fails as a request")
  same(user:timed("success after it", function()
    socket:receive(1, { timeout = "10ms" })
    socket:send "late\n"
    socket:close()
  end), nil, "a later success does not take the failure back")
end }

task { "mistakes", sequence = 9, function(user)
  local socket = opened(user, "echo", { name = "mistakes" })
  raises("'socket.recieve' does not exist; did you mean 'receive'?", function() return socket.recieve end)
  raises("the data of socket:send must be a string, or a list of strings, not a number", socket.send, socket, 7)
  raises("the data of socket:send must be a string", socket.send, socket, { "a", {} })
  raises("unknown option 'time' in socket:send", socket.send, socket, "x", { time = 1 })
  raises("socket:receive takes a number of bytes, \"line\", \"all\"", socket.receive, socket)
  raises("socket:receive takes a number of bytes", socket.receive, socket, "lines")
  raises("socket:receive takes 0 to 1048576 bytes at once ('max_buffer')", socket.receive, socket, 1048577)
  raises("socket:receive takes 0 to 1048576 bytes", socket.receive, socket, -1)
  raises("has all options in one table", socket.receive, socket, { until_ = "x" }, { timeout = 1 })
  raises("option 'until_' must be a string of 1 to 256 bytes", socket.receive, socket, { until_ = "" })
  raises("option 'max' must be a number of bytes from 1 to 1048576", socket.receive, socket, { until_ = "x", max = 0 })
  raises("option 'timeout' is in seconds and above 0", socket.receive, socket, "line", { timeout = 0 })
  raises("unknown option 'limit' in socket:receive; options of socket:receive: timeout, max, until_", socket.receive, socket, { limit = 1 })
  raises("a socket is used with a colon", socket.send, "x", "y")
  raises("the address has no port; write host:port", user.tcp, user, "localhost")
  raises("user:tcp(\"a b:1\"): this is not an address", user.tcp, user, "a b:1")
  raises("the address of user:tls must be a string such as", user.tls, user, 7)
  raises("unknown option 'nmae' in user:tcp", user.tcp, user, nil, { nmae = "x" })
  raises("unknown option 'max_buffer' in user:udp", user.udp, user, UDP, { max_buffer = 1 })
  raises("option 'server_name' is for TLS", user.tcp, user, nil, { server_name = "x" })
  raises("leave out 'tls'", user.tls, user, nil, { tls = false })
  raises("this call has an argument too many", user.tcp, user, nil, {}, 3)
  raises("user:timed takes a name and a function", user.timed, user, "x")
  raises("option 'kind' is a word of up to 20 capital letters", user.timed, user, "x", function() end, { kind = "a b" })
  raises("unknown option 'tag' in user:timed", user.timed, user, "x", function() end, { tag = 1 })
  local datagrams = user:udp(UDP, { name = "mistakes" })
  raises("a datagram is received as a whole", datagrams.receive, datagrams, "line")
  raises("a datagram has at most 65507 bytes", datagrams.send, datagrams, ("x"):rep(65508))
  raises("datagrams have no TLS", datagrams.start_tls, datagrams)
end }
