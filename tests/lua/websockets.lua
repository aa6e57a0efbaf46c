-- WebSockets: messages both ways, and how they end.

local test = require "test"
local same, raises = test.same, test.raises

task { "messages", sequence = 1, function(user)
  local socket = user:websocket("/echo", { subprotocols = { "v0", "v1" }, name = "echo" })
  same(socket.status, 101, "open")
  same(socket.ok, true, "so far")
  same(socket.error, nil, "no error")
  same(socket.subprotocol, "v1", "what the server has chosen")
  same(socket.headers["Upgrade"], "websocket", "headers")
  same(socket:send "hello", true, "sent")
  local message = socket:receive()
  same(message.data, "hello", "a text")
  same(message.is_text, true, "it is one")
  same(message.at > 0, true, "when it came")
  socket:send { n = 7, list = { 1, 2 } }
  message = socket:receive()
  same(message:json().n, 7, "as JSON")
  same(message:json "list[1]", 2, "at a path")
  socket:send_binary "\0\255"
  message = socket:receive()
  same(message.data, "\0\255", "bytes")
  same(message.is_text, false, "they are no text")
  for _, length in ipairs { 0, 1, 125, 126, 127, 65535, 65536, 300000 } do
    socket:send(("x"):rep(length))
    same(#socket:receive().data, length, "of any length")
  end
  for n = 1, 10 do socket:send { n = n } end
  message = socket:receive { match = function(m) return m:json "n" == 5 end }
  same(message:json "n", 5, "the one that matches")
  local rest = {}
  for m in socket:messages { timeout = 0.05 } do rest[#rest + 1] = m:json "n" end
  same(table.concat(rest, " "), "6 7 8 9 10", "until none comes")
  same(socket:receive { timeout = "20ms" }, nil, "none in time")
  same(user:get("/page", { name = "page" }).status, 200, "other requests beside it")
  socket:close(3000, "bye")
  same(socket.ok, true, "a close that the plan wants is no failure")
  same(socket.close_code, 3000, "the server's answer")
  same(socket:send "more", false, "it is closed")
  same(socket:receive(), nil, "and gives nothing")
end }

task { "questions", sequence = 1, function(user)
  local socket = user:websocket("/echo", { name = "asked" })
  for n = 1, 5 do
    socket:send { n = -n }
    local answer = socket:ask({ n = n }, { name = "question", match = function(m) return m:json "n" == n end })
    same(answer:json "n", n, "the answer")
  end
  same(socket:ask "no name".data, "no name", "of the task")
  socket:send "before"
  user:wait(0.1)
  same(socket:ask("after", { name = "after" }) ~= nil, true, "an answer that has come after its question")
  same(socket:ask("late", { name = "late", timeout = "30ms", match = function() end }), nil, "no answer in time")
  local closed = user:websocket("/close/1000", { name = "closing" })
  same(closed:ask("x", { name = "to nobody" }), nil, "the socket has ended")
  socket:close()
end }

task { "ends that are expected", sequence = 1, function(user)
  local none = user:websocket("/close/none", { name = "without a code" })
  same(none:receive(), nil, "it ends")
  same(none.ok, true, "a close without a code is a clean end")
  same(none.close_code, nil, "without one")
  local expected = user:websocket("/close/4001", { name = "expected", expect = { close_code = { 4001, 1012 } } })
  same(expected:receive(), nil, "it ends")
  same(expected.ok, true, "as expected")
  local other = user:websocket("/close/4001", { name = "otherwise", expect = { close_code = 1012 } })
  same(other:receive(), nil, "it ends")
  same(other.error, "closed early: expected close code 1012, got 4001", "otherwise")
  same(other.ok, false, "which is a failure")
  local refused = user:websocket("/refuse", { name = "refused" })
  same(refused.body, "no", "what the server says")
  same(refused.ok, false, "it is refused")
  raises("'close_code' of 'expect' is for a WebSocket", user.get, user, "/page", { expect = { close_code = 1000 } })
  raises("the code with which a WebSocket is closed is 'close_code'", user.websocket, user, "/echo", { expect = { status = 4401 } })
  raises("17 is not a close code", user.websocket, user, "/echo", { expect = { close_code = 17 } })
end }

task { "pings", sequence = 1, function(user)
  local socket = user:websocket("/echo", { name = "pinged", headers = { ["Sec-WebSocket-Protocol"] = "v0, v1" } })
  same(socket.subprotocol, "v1", "offered by a header")
  same(socket.body, nil, "it is open")
  assert(socket:ping() < 5, "in seconds")
  socket:send "a"
  assert(socket:ping { name = "pong", timeout = 5 } < 5, "beside a message")
  same(socket:receive().data, "a", "which waits")
  same(socket:receive { timeout = 0.02 }, nil, "a pong is no message")
  socket:close()
  same(socket:ping { name = "no pong" }, nil, "it is closed")
  raises("unknown option 'matches' of socket:ping", socket.ping, socket, { matches = 1 })
end }

task { "opened again", sequence = 1, function(user)
  local options = { name = "again", reconnect = { wait = "20ms" } }
  local socket = user:websocket("/feed/3", options)
  local seen = {}
  for n = 1, 7 do seen[n] = socket:receive().data end
  same(table.concat(seen, " "), "1 2 3 1 2 3 1", "over three connections")
  same(socket.ok, true, "it is open")
  socket:close()
  for _ = 1, 2 do socket:receive() end
  same(socket:receive(), nil, "the plan has closed it")
  local dropped = user:websocket("/drop", { name = "dropped", reconnect = { wait = 0.01 } })
  same(dropped:receive { deadline = 0.2 }, nil, "a deadline counts meanwhile")
  dropped:close()
  local echo = user:websocket("/close/1000", { name = "again at a sending", reconnect = { wait = 0.01 } })
  user:wait(0.1)
  same(echo:send "x", true, "over a new connection")
  echo:close()
  local handled = 0
  local fed = user:websocket("/feed/2", { name = "again for a handler", reconnect = { wait = 0.01 } })
  fed:on_message(function() handled = handled + 1 end)
  for _ = 1, 500 do if handled < 5 then user:wait(0.01) end end
  assert(handled >= 5, "again and again")
  fed:close()
  raises("option 'reconnect' must be", user.websocket, user, "/echo", { reconnect = 7 })
  raises("unknown option 'pause' of reconnect", user.websocket, user, "/echo", { reconnect = { pause = 7 } })
  raises("option 'wait' of reconnect", user.websocket, user, "/echo", { reconnect = { wait = -1 }, name = "wrong pause" })
end }

task { "a slow reader", sequence = 1, function(user)
  local socket = user:websocket("/feed/60000", { name = "slow" })
  user:wait(0.2)
  local sum = 0
  for message in socket:messages() do
    sum = sum + tonumber(message.data)
    if sum % 10000 == 0 then user:wait(0.01) end
  end
  same(sum, 60000 * 60001 // 2, "nothing is lost")
  same(socket.ok, true, "and nothing fails")
end }

task { "deadlines", sequence = 1, function(user)
  local turning = user:websocket("/echo", { name = "turning", count = false })
  turning:send "round and round"
  local rounds, begin = 0, time.now()
  for m in turning:messages { deadline = "150ms" } do
    rounds = rounds + 1
    turning:send(m.data)
  end
  assert(rounds > 1 and time.now() - begin >= 0.15, "a deadline ends a loop to which messages come all the time")
  same(turning:receive { match = function(m) return m.data == "nobody says this" end, deadline = 0.05 }, nil, "or a wait")
  raises("option 'deadline' of socket:messages", function() turning:messages { deadline = {} } end)
  turning:close()
end }

task { "over tasks", sequence = 2, function(user)
  user.data.socket = user:websocket("/echo", { name = "kept" })
  user.data.socket:send "from one task"
end }

task { "over tasks, again", sequence = 3, function(user)
  same(user.data.socket:receive().data, "from one task", "to another")
  for n = 1, 50 do user:websocket("/echo", { name = "many" }):send { n = n } end
end }

local function eventually(user, holds, what)
  for _ = 1, 1000 do
    if holds() then return end
    user:wait(0.01)
  end
  error(what, 2)
end

task { "whenever the user waits", sequence = 4, wait = 0.5, function(user)
  local socket = user:websocket("/echo", { name = "handled" })
  local seen = {}
  socket:on_message(function(m) seen[#seen + 1] = m.data end)
  socket:send "1"
  eventually(user, function() return seen[1] == "1" end, "during a pause")
  socket:send "2"
  for _ = 1, 100 do
    if not seen[2] then user:get("/page", { name = "page" }) end
  end
  same(table.concat(seen, " "), "1 2", "and during requests")
  -- Those that somebody waits for are theirs; what they let go is not lost.
  socket:send "let go"
  socket:send "4"
  same(socket:receive { match = function(m) return m.data == "4" end }.data, "4", "who waits comes first")
  same(table.concat(seen, " "), "1 2 let go", "the others are handled")
  for n = 5, 30 do
    same(socket:ask("asked " .. n, { name = "beside", match = function(m) return m.data == "asked " .. n end }).data, "asked " .. n, "its answer")
    socket:send(tostring(n))
  end
  eventually(user, function() return seen[#seen] == "30" end, "the latest")
  same(#seen, 29, "no question's answer is among them")
  -- A handler may wait, ask and send; the next message comes after that.
  local order = {}
  socket:on_message(function(m)
    order[#order + 1] = m.data .. " begins"
    user:get("/page", { name = "page" })
    local answer = m.data == "b" and socket:ask("c", { name = "in the handler" }).data or ""
    order[#order + 1] = m.data .. " ends " .. answer
  end)
  socket:send "a"
  socket:send "b"
  eventually(user, function() return #order == 4 end, "both have been handled")
  same(table.concat(order, ", "), "a begins, a ends , b begins, b ends c", "one after another")
  user.data.kept, user.data.seen = socket, {}
  socket:on_message(function(m) user.data.seen[#user.data.seen + 1] = m.data end)
  socket:send "over tasks"
end }

task { "between tasks", sequence = 5, function(user)
  same(user.data.seen[1], "over tasks", "a message that came during the wait of the scenario")
  raises("socket:on_message takes a function", user.data.kept.on_message, user.data.kept, 7)
  user.data.kept:close()
  local ended = user:websocket("/close/1000", { name = "ended" })
  ended:on_message(function() end)
  eventually(user, function() return ended.close_code == 1000 end, "its end is seen")
end }

task { "a feed", sequence = 6, function(user)
  local feed, count = user:websocket("/feed/500", { name = "feed", expect = { min_events = 500, last = "500" } }), 0
  for message in feed:messages() do
    count = count + 1
    same(message.data, tostring(count), "in order")
  end
  same(count, 500, "all of them")
  same(feed.ok, true, "1000 is how a server ends it")
  same(feed.close_code, 1000, "the code")
end }

task { "ends", sequence = 7, function(user)
  local function ends(path, options)
    options = options or {}
    options.name = path
    local socket = user:websocket(path, options)
    for _ in socket:messages() do end
    return socket
  end
  local closed = ends "/close/4001"
  same(closed.ok, false, "a close with another code")
  same(closed.error, "closed early: the server closed the socket: 4001 'enough'", "says why")
  same(closed.close_code, 4001, "the code")
  same(closed.close_reason, "enough", "the reason")
  same(ends("/drop").error, "closed early: the server closed the connection of a socket without a close frame", "cut off")
  same(ends("/refuse").error, "expected status 101, got 403", "refused")
  same(ends("/page").error, "expected status 101, got 200", "a page")
  same(ends("/wrong/accept").error, "protocol: 'Sec-WebSocket-Accept' is missing or wrong", "no handshake")
  same(ends("/wrong/protocol").error, "protocol: the server chose a subprotocol that was not offered", "another protocol")
  same(ends("/wrong/extension").error, "protocol: the server uses an extension that was not offered", "an extension")
  same(ends("/raw/masked").error, "protocol: a frame of the server is masked", "a wrong frame")
  same(ends("/raw/half").error, "closed early: the server closed the connection of a socket without a close frame", "half a frame")
  same(ends("/raw/huge").error, "too large: a message is too large ('max_buffer')", "an endless frame")
  same(ends("/feed/500", { max_buffer = 1 }).error:match "^[^:]+", "too large", "more than may wait")
  local silent = user:websocket("/hold", { name = "/hold", timeout = 0.05 })
  same(silent.status, 0, "no handshake in time")
  same(silent.error, "timeout", "says so")
end }

task { "mistakes", sequence = 8, function(user)
  local socket = user:websocket("/echo", { name = "echo" })
  raises("'socket.recieve' does not exist; did you mean 'receive'?", function() return socket.recieve end)
  raises("socket:send takes a text", socket.send, socket, 7)
  raises("socket:send_binary takes a string", socket.send_binary, socket, {})
  raises("a text is UTF-8: send bytes with socket:send_binary", socket.send, socket, "\255")
  raises("unknown option 'times' of socket:ask; options: timeout, match, deadline, name", socket.ask, socket, "x", { times = 1 })
  raises("socket:ask takes a text", socket.ask, socket, 7)
  raises("option 'name' must be a string", socket.ask, socket, "x", { name = 7 })
  raises("unknown option 'time' of socket:receive; options: timeout, match", socket.receive, socket, { time = 1 })
  raises("option 'match' of socket:receive must be a function", socket.receive, socket, { match = "x" })
  raises("the code is 1000, or one from 3000 to 4999", socket.close, socket, 1001)
  raises("the reason has at most 123 bytes", socket.close, socket, 1000, ("x"):rep(124))
  raises("unknown option 'protocols'", user.websocket, user, "/echo", { protocols = {} })
  raises("option 'subprotocols' must be a list of names", user.websocket, user, "/echo", { subprotocols = "v1" })
  raises("option 'deflate' must be true or false", user.websocket, user, "/echo", { deflate = 1 })
  raises("a WebSocket is a stream already", user.websocket, user, "/echo", { stream = true })
  raises("the request of a WebSocket has no body", user.websocket, user, "/echo", { json = {} })
  raises("may have 'status', 'header', 'min_events' and 'last'", user.websocket, user, "/echo", { expect = { text = "a" } })
  raises("this request has no body", user.websocket, user, "/echo", nil, {})
  raises("the path must be a string", user.websocket, user, 7)
  socket:close()
end }
