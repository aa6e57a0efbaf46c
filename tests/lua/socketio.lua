-- Socket.IO: events both ways, acknowledgements, binary data, namespaces, several functions over one connection, and what goes wrong. Run
-- against a real server, whose pings come every second.

local test = require "test"
local same, raises = test.same, test.raises
local socketio = require "lgoose.socketio"

-- Returns values as text that is the same for the same values.
local function shown(...)
  local texts = table.pack(...)
  for i = 1, texts.n do
    local value = texts[i]
    texts[i] = (type(value) == "table" or value == json.null) and json.encode(value) or tostring(value)
  end
  return table.concat(texts, ", ")
end

local function connected(user, options)
  local socket = socketio.connect(user, options)
  same(socket.ok, true, socket.error or "connected")
  return socket
end

task { "events", sequence = 1, function(user)
  local options = { namespace = "/chat", auth = { token = "t" }, query = { a = "b c" }, headers = { ["x-agent"] = "me" }, name = "events" }
  local socket = connected(user, options)
  same(#socket.id, 20, "it has an ID")
  same(
    shown(socket:request "whoami"),
    '{"agent":"me","auth":{"token":"t"},"query":{"EIO":"4","a":"b c","transport":"websocket"}}',
    "what it has sent"
  )
  same(shown(socket:request("echo", 1, "ä", { a = 1, b = json.array {} }, nil, true)), '1, ä, {"a":1,"b":[]}, null, true', "all kinds of values")
  same(shown(socket:request "echo"), "true", "nothing")
  same(shown(socket:request("echo", false)), "false", "false")
  same(shown(socket:request("echo", ("x"):rep(200000))), ("x"):rep(200000), "a long one")
  same(socket:emit("bounce", "x", 2), true, "sent")
  same(shown(socket:receive "bounced"), "x, 2", "and received")
  socket:emit "bounce"
  same(shown(socket:receive "bounced"), "true", "without arguments")
  same(shown(socket:receive("bounced", 0.05)), "nil, timeout", "no more")
  -- What comes while something else is awaited is kept in order.
  for n = 1, 20 do
    socket:emit("bounce", n)
  end
  same(socket:request("echo", "after"), "after", "an acknowledgement after events")
  for n = 1, 20 do
    same(socket:receive("bounced", 5), n, "in order")
  end
  same(shown(socket:request { "never", 1, timeout = "50ms", name = "too late" }), "nil, timeout", "no acknowledgement")
  same(socket.ok, true, "and the connection goes on")
  socket:disconnect()
  same(shown(socket.ok, socket.error), "false, io client disconnect", "disconnected")
  same(shown(socket:emit "echo"), "nil, io client disconnect", "nothing is sent")
end }

task { "binary data", sequence = 2, function(user)
  local socket = connected(user, { name = "binary" })
  local bytes = "\0\1\255" .. random.bytes(100000)
  local back, deep = socket:request("echo", socketio.binary(bytes), { deep = { 1, socketio.binary "abc" }, list = json.array {} })
  same(back, bytes, "bytes")
  same(shown(deep), '{"deep":[1,"abc"],"list":[]}', "in tables")
  for n = 1, 10 do
    socket:emit("bounce", socketio.binary(("x"):rep(n)), n)
  end
  same(socket:request("echo", "between"), "between", "not mixed up")
  for n = 1, 10 do
    same(shown(socket:receive "bounced"), ("x"):rep(n) .. ", " .. n, "event " .. n)
  end
  raises("takes a string", socketio.binary, 1)
  socket:disconnect()
end }

task { "acknowledgements of the plan", sequence = 3, function(user)
  local socket = connected(user, { name = "answers" })
  socket:emit("ask me", 1, 2)
  local a, b, reply = socket:receive "question"
  reply("sum", a + b)
  reply "twice"
  same(shown(socket:receive "answered"), '["sum",3]', "with reply")
  socket:on("question", function(x, y)
    -- A request over the same connection, while the task waits for an event.
    return socket:request("echo", x * y), socketio.binary "z"
  end)
  socket:emit("ask me", 6, 7)
  same(shown(socket:receive "answered"), '[42,"z"]', "with what a function returns")
  local sum = 0
  socket:emit("burst", 100)
  same(socket:receive "over", 100, "all have come")
  socket:on("tick", function(n) sum = sum + n end)
  socket:emit("burst", 100)
  socket:receive "over"
  for _ = 1, 100 do
    if sum < 2 * 5050 then user:wait(0.02) end
  end
  same(sum, 2 * 5050, "also those from before")
  socket:on("tick", nil)
  socket:emit("burst", 1500)
  socket:receive "over"
  same(shown(socket:receive "tick"), "nil, too many events: 500 'tick' were dropped, since 'max_events' (1000) of them waited", "too many")
  same(socket:receive "tick", 501, "the latest are kept")
  socket:disconnect()
end }

task { "namespaces", sequence = 4, function(user)
  local socket = connected(user, { namespace = "/chat", name = "spaces" })
  local admin = socket:namespace "/admin"
  same(admin.error, 'refused: not allowed {"code":401,"needs":"a token"}', "refused")
  same(admin.refusal.data.code, 401, "with data")
  admin = socket:namespace("/admin", { auth = { token = "secret" } })
  same(shown(admin.ok, admin.error), "true, nil", "accepted")
  same(admin:request("join", "lobby"), "joined", "one")
  same(socket:request("join", "lobby"), "joined", "another")
  same(admin:request("say", "lobby", "hello"), 1, "each has its own rooms")
  same(select(2, admin:receive "said"), "hello", "and events")
  same(select(2, socket:receive("said", 0.05)), "timeout", "and hears nothing of the other's")
  raises("is connected already", socket.namespace, socket, "/admin")
  admin:disconnect()
  same(shown(admin.ok, socket.ok), "false, true", "one of them leaves")
  same(socket:request("echo", 1), 1, "the other goes on")
  socket:disconnect()
  local refused = socketio.connect(user, { namespace = "/none", name = "refused" })
  same(shown(refused.ok, refused.error), "false, refused: Invalid namespace", "no such namespace")
end }

task { "side by side", sequence = 5, function(user)
  local socket = connected(user, { name = "beside" })
  local jobs = {}
  for n = 1, 20 do
    jobs[n] = user:spawn(function() return socket:request("echo", n) end)
  end
  local never = user:spawn(function() return socket:request { "never", name = "cancelled" } end)
  for n = 1, 20 do
    same(jobs[n]:join(), n, "each has its own")
  end
  local event = user:spawn(function() return socket:receive("bounced", 5) end)
  user:wait(0.02)
  never:cancel()
  never:join()
  socket:emit("bounce", "for a job")
  same(event:join(), "for a job", "another one reads on")
  -- Nobody waits for the connection meanwhile, but its pings are answered.
  user:wait(3)
  same(socket:request("echo", "still there"), "still there", "pings are answered")
  socket:disconnect()
end }

task { "what is wrong", sequence = 6, function(user)
  raises("socketio.connect takes the user", socketio.connect, nil)
  raises("unknown option 'nmae'", socketio.connect, user, { nmae = "a" })
  raises("option 'path' must be a string, not number", socketio.connect, user, { path = 1 })
  raises("option 'max_events' is a whole number", socketio.connect, user, { max_events = 0 })
  raises("the timeout is a number of seconds", socketio.connect, user, { timeout = "soon" })
  raises("option 'namespace' begins with '/'", socketio.connect, user, { namespace = "chat" })
  local socket = connected(user, { name = "mistakes" })
  raises("'disconnect' is no name of an event", socket.emit, socket, "disconnect")
  raises("takes the name of an event", socket.emit, socket, 1)
  raises("unknown option 'tiemout'", socket.request, socket, { "echo", tiemout = 1 })
  raises("takes the name of an event", socket.receive, socket)
  raises("takes the name of an event and a function", socket.on, socket, "a", 1)
  raises("the timeout is a number of seconds", socket.receive, socket, "a", "soon")
  socket:disconnect()
end }

-- The ends of a connection, each of which the report has.
task { "ends", sequence = 7, function(user)
  for _, case in ipairs {
    { "kick", "io server disconnect" },
    { "close", "io server disconnect" },
    { "no pings", "ping timeout: nothing has come for 2 s" },
    { "restart", "closed early: the server has closed the connection" },
  } do
    local way, reason = case[1], case[2]
    local socket = connected(user, { name = way, timeout = 5 })
    socket:emit(way)
    same(select(2, socket:receive "nothing"), reason, way)
    same(shown(socket.ok, socket.error), "false, " .. reason, way)
    same(select(2, socket:request { "echo", name = "after " .. way }), reason, way)
  end
  -- The server is there again.
  user:wait(2)
  local socket = connected(user, { name = "again" })
  same(socket:request("echo", 1), 1, "again")
  local told
  socket:on("disconnect", function(reason) told = reason end)
  socket:emit "kick"
  for _ = 1, 100 do
    if not told then user:wait(0.02) end
  end
  same(told, "io server disconnect", "the plan is told")
end }
