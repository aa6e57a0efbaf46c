-- MQTT 3.1.1 and 5: what is published, received, left as a will, and what goes wrong. Run against a real server, whose listener for users
-- with a password takes QoS 1 at most, and which keeps messages of QoS 0 for sessions, too.

local test = require "test"
local same, raises = test.same, test.raises
local mqtt = require "lgoose.mqtt"

local LISTENERS = { users = "127.0.0.1:" .. env "USERS", tls = "localhost:" .. env "TLS", web = "ws://127.0.0.1:" .. env "WEB" }

local function connected(user, options)
  options.timeout = options.timeout or 10
  local client = mqtt.connect(user, options)
  same(client.ok, true, "connected: " .. tostring(client.error))
  return client
end

-- Returns the next message as "topic payload qos", and the message.
local function next_of(client)
  local message, problem = client:receive(10)
  if not message then return problem end
  return message.topic .. " " .. message.payload .. " " .. message.qos, message
end

for _, version in ipairs { 3, 5 } do
  task { "exchanges of version " .. version, sequence = version, function(user)
    local root = "v" .. version .. "/"
    local client = connected(user, { version = version, name = "v" .. version, keep_alive = "1m" })
    same(client.session_present, false, "no session")
    for granted = 0, 2 do
      same(client:subscribe(root .. granted, { qos = granted }), granted, "granted QoS")
      for qos = 0, 2 do
        same(client:publish(root .. granted, "q" .. qos, { qos = qos }), true, "published")
        same(next_of(client), root .. granted .. " q" .. qos .. " " .. math.min(qos, granted), "received")
      end
    end
    local many = client:subscribe({ root .. "many/+/x", root .. "all/#" }, { qos = 1, name = "two" })
    same(#many .. many[1] .. many[2], "211", "a QoS for each topic")
    client:publish(root .. "many/a/x", { b = { 1, 2 } })
    same(next_of(client), root .. 'many/a/x {"b":[1,2]} 0', "a table is JSON")
    client:publish(root .. "all/a/b", 21.5, { name = "number" })
    same(next_of(client), root .. "all/a/b 21.5 0", "a number")
    client:publish(root .. "all", nil)
    same(next_of(client), root .. "all  0", "nothing")
    -- They arrive while the acknowledgements are waited for.
    for n = 1, 200 do same(client:publish(root .. "2", "m" .. n, { qos = n % 3 }), true, "published") end
    -- Each QoS keeps its own order, as the standard has it.
    local latest = { [0] = 0, 0, 0 }
    for _ = 1, 200 do
      local _, message = next_of(client)
      local number = tonumber(message.payload:sub(2))
      same(number > latest[message.qos] and number % 3 == message.qos and not message.dup, true, "in order, once")
      latest[message.qos] = number
    end
    same(client:receive "20ms", nil, "nothing more")
    same(select(2, client:receive(0)), "timeout", "nothing more")
    local large = ("0123456789"):rep(30000)
    for qos = 0, 2 do
      client:publish(root .. "2", large, { qos = qos })
      local _, message = next_of(client)
      same(message.payload == large, true, "300 KB")
    end
    same(client:ping(), true, "a ping")
    same(client:unsubscribe { root .. "2", root .. "1" }, true, "no longer")
    client:publish(root .. "2", "nobody", { qos = 1 })
    same(select(2, client:receive "50ms"), "timeout", "nobody listens")

    client:publish(root .. "kept", "state", { retain = true, qos = 1 })
    client:subscribe(root .. "kept")
    local _, message = next_of(client)
    same(message.payload .. tostring(message.retain), "statetrue", "a retained one")
    client:publish(root .. "kept", "", { retain = true, qos = 1 })
    same(select(2, next_of(client)).retain, false, "passed on at once")

    client:subscribe(root .. "wills", { qos = 1 })
    local will = { topic = root .. "wills", payload = "gone", qos = 1 }
    connected(user, { version = version, will = will }):disconnect()
    same(select(2, client:receive "100ms"), "timeout", "no will after a goodbye")
    local lost = connected(user, { version = version, will = will })
    lost:close()
    same(next_of(client), root .. "wills gone 1", "the will")
    same(select(2, lost:publish("a", "b")), "closed early: the plan has closed the connection", "closed")

    local id = "kept-" .. version
    local session = { version = version, client_id = id, clean = false, session_expiry = version == 5 and "1h" or nil }
    local first = connected(user, session)
    first:subscribe(root .. "session", { qos = 2 })
    first:disconnect()
    for qos = 0, 2 do client:publish(root .. "session", "s" .. qos, { qos = qos }) end
    local second = connected(user, session)
    same(second.session_present, true, "the session is there")
    for qos = 0, 2 do same(next_of(second), root .. "session s" .. qos .. " " .. qos, "what came meanwhile") end
    second:disconnect()
    session.clean = true
    same(connected(user, session).session_present, false, "begun anew")

    -- Published by another client before.
    client:subscribe("outside/#", { qos = 2 })
    local seen = {}
    for _ = 1, 4 do
      local text, outside = next_of(client)
      seen[outside.topic] = #text > 1000 and #outside.payload .. outside.payload:sub(-3) or text
      same(outside.retain, true, "retained")
    end
    same(seen["outside/0"], "outside/0 zero 0", "QoS 0")
    same(seen["outside/1"], "outside/1 größe 1", "QoS 1")
    same(seen["outside/2"], "outside/2 two 2", "QoS 2")
    same(seen["outside/large"], "300000end", "300 KB")
    client:disconnect()
  end }
end

-- A subscriber that did not come from here receives these.
task { "what others receive", sequence = 6, function(user)
  for _, version in ipairs { 3, 5 } do
    local client = connected(user, { version = version })
    for qos = 0, 2 do
      local properties = version == 5 and { content_type = "text/plain", message_expiry_interval = 60, user_properties = { unit = "K" } } or nil
      client:publish("judged/" .. version, "qos" .. qos, { qos = qos, properties = properties })
    end
    client:publish("judged/" .. version, ("x"):rep(300000), { qos = 2 })
    client:disconnect()
  end
end }

task { "properties of version 5", sequence = 7, function(user)
  local client = connected(user, { version = 5, properties = { user_properties = { fleet = "a" } } })
  same(client.server.receive_maximum, 20, "what the server says of itself")
  same(client.server.maximum_packet_size, 400000, "its limit")
  client:subscribe("five", { qos = 1, properties = { subscription_identifier = 300 } })
  client:publish("five", "text", {
    qos = 1,
    properties = {
      payload_format_indicator = 1,
      response_topic = "answers",
      correlation_data = "\0\255",
      user_properties = { a = "1", b = "zwei" },
    },
  })
  local _, message = next_of(client)
  local properties = message.properties
  same(properties.payload_format_indicator, 1, "a byte")
  same(properties.response_topic, "answers", "a text")
  same(properties.correlation_data, "\0\255", "bytes")
  same(properties.subscription_identifier, 300, "a variable integer")
  same(properties.user_properties.a .. properties.user_properties.b, "1zwei", "pairs")
  client:publish("five", "plain")
  same(next(select(2, next_of(client)).properties), "subscription_identifier", "no other")
  client:subscribe("own", { no_local = true, retain_as_published = true, retain_handling = 2 })
  client:publish("own", "x", { qos = 1 })
  same(select(2, client:receive "50ms"), "timeout", "not to itself")
  same(client:publish("nobody/listens", "x", { qos = 1 }), true, "no subscriber is no failure")
  local ok, problem = client:publish("five", ("x"):rep(400000), { name = "too large" })
  same(ok, nil, "too large for the server")
  same(problem, "packet too large: the server takes at most 400000 bytes", "says so")
  same(#mqtt.connect(user, { version = 5, client_id = "", timeout = 5 }).client_id > 5, true, "assigned by the server")
end }

task { "users, TLS and WebSockets", sequence = 8, function(user)
  local refused = { [3] = "not authorized", [5] = "not authorized" }
  for version, reason in pairs(refused) do
    local ann = { address = LISTENERS.users, version = version, user = "ann", password = "secret", name = "users" }
    local client = connected(user, ann)
    same(client:subscribe("open/x", { qos = 2 }), 1, "granted as far as the server allows")
    same(client:publish("open/x", "x", { qos = 1 }), true, "allowed")
    same(next_of(client), "open/x x 1", "received")
    local ok, problem = client:publish("closed/x", "x", { qos = 1, name = "closed" })
    -- Version 3 has no way to say so.
    same(ok, version == 3 or nil, "refused")
    same(problem, version == 5 and reason or nil, "says why")
    if version == 5 then
      same(client.server.maximum_qos, 1, "the most that it takes")
      same(select(2, client:publish("open/x", "x", { qos = 2 })), "QoS not supported: the server takes at most 1", "too much")
    end
    same(client.ok, true, "and harms nothing")
    client:disconnect()
    ann.password = "wrong"
    local wrong = mqtt.connect(user, ann)
    same(wrong.ok, false, "somebody else")
    same(wrong.error, reason, "says so")
    same(select(2, wrong:publish("a", "b")), reason, "every call says it")
    same(select(2, wrong:receive(1)), reason, "every call says it")
    wrong:disconnect()
  end
  same(mqtt.connect(user, { address = "127.0.0.1:1", name = "nobody" }).error, "connection refused: 127.0.0.1:1", "no server")
  for _, options in ipairs {
    { address = LISTENERS.tls, tls = true, version = 3 },
    { address = LISTENERS.tls, tls = true, server_name = "localhost", version = 5 },
    { websocket = LISTENERS.web .. "/mqtt", version = 5, name = "web" },
  } do
    local client = connected(user, options)
    client:subscribe("secret", { qos = 2 })
    for qos = 0, 2 do
      client:publish("secret", ("s"):rep(options.websocket and 5000 or 100000), { qos = qos })
      same(#next_of(client) > 5000, true, "over it")
    end
    same(select(2, client:receive "20ms"), "timeout", "nothing more")
    client:disconnect()
    same(select(2, client:ping()), "closed early: the plan has closed the connection", "closed")
  end
end }

-- One waits for messages while others publish over the same connection.
task { "jobs that share a connection", sequence = 9, function(user)
  local client = connected(user, { version = 5, name = "shared" })
  client:subscribe("shared", { qos = 2 })
  local got = 0
  local receiver = user:spawn(function()
    while true do
      local message, problem = client:receive(20)
      if not message then error(problem) end
      got = got + 1
    end
  end)
  local jobs = {}
  for job = 1, 12 do
    jobs[job] = user:spawn(function()
      for n = 1, 10 do same(client:publish("shared", ("x"):rep(3000), { qos = n % 3 }), true, "published") end
    end)
  end
  for _, job in ipairs(jobs) do job:join() end
  while got < 120 do user:wait "10ms" end
  receiver:cancel()
  user:wait "10ms"
  -- What the cancelled one was waiting for goes to the next.
  client:publish("shared", "later", { qos = 1 })
  same(next_of(client), "shared later 1", "others can receive")
  local waiting = user:spawn(function() return client:receive(20) end)
  user:wait "10ms"
  client:disconnect()
  same(select(2, waiting:join()), "closed early: the plan has closed the connection", "which is no failure")
end }

task { "pings are sent in the background", sequence = 10, function(user)
  local client = connected(user, { keep_alive = 2, name = "idle" })
  -- It would have closed the connection after half as long.
  user:wait(6)
  same(client:ping(), true, "the server still knows the client")
  client:disconnect()
end }

task { "mistakes", sequence = 11, function(user)
  local client = connected(user, { name = "mistakes" })
  raises("mqtt.connect takes the user", mqtt.connect)
  raises("mqtt.connect: unknown option 'adress'; options: address, clean, client_id,", mqtt.connect, user, { adress = "x" })
  raises("mqtt.connect: option 'address' must be a string, not 1883", mqtt.connect, user, { address = 1883 })
  raises("option 'version' must be 3, for MQTT 3.1.1, or 5, not 3.1.1", mqtt.connect, user, { version = "3.1.1" })
  raises("option 'keep_alive' must be a duration", mqtt.connect, user, { keep_alive = "soon" })
  raises("option 'keep_alive' is 65535 seconds at most", mqtt.connect, user, { keep_alive = "20h" })
  raises("option 'session_expiry' is for version 5", mqtt.connect, user, { session_expiry = 5 })
  raises("option 'websocket' has the address, and TLS by wss://", mqtt.connect, user, { websocket = "/mqtt", tls = true })
  raises("a password needs a user", mqtt.connect, user, { password = "x" })
  raises("mqtt.connect: will: the topic is empty", mqtt.connect, user, { will = { topic = "" } })
  raises("mqtt.connect: will: unknown option 'delay'", mqtt.connect, user, { will = { topic = "a", delay = 3 } })
  raises("mqtt.connect: properties are for version 5", mqtt.connect, user, { properties = { receive_maximum = 3 } })
  raises("client:publish: the topic must be a string, not nil", client.publish, client)
  raises("client:publish: the topic is empty", client.publish, client, "")
  raises("client:publish: 'a/+' has a wildcard; only subscriptions take them", client.publish, client, "a/+", "x")
  raises("client:publish: the topic has more than 65535 bytes", client.publish, client, ("a"):rep(65536), "x")
  raises("client:publish: the topic must be UTF-8 without NUL", client.publish, client, "a\0", "x")
  raises("client:publish: the payload must be a string, a number or a table, not boolean", client.publish, client, "a", true)
  raises("client:publish: option 'qos' must be 0, 1 or 2, not 3", client.publish, client, "a", "x", { qos = 3 })
  raises("client:publish: properties are for version 5", client.publish, client, "a", "x", { properties = {} })
  raises("client:subscribe: name a topic", client.subscribe, client, {})
  raises("client:subscribe: only version 5 has such options", client.subscribe, client, "a", { no_local = true })
  raises("client:subscribe: a wildcard in 'a/b+'", client.subscribe, client, "a/b+")
  raises("client:subscribe: a wildcard in '#/a'", client.subscribe, client, { "a/#", "#/a" })
  raises("client:receive takes a duration", client.receive, client, "later")
  local five = connected(user, { version = 5 })
  raises("client:publish: unknown property 'content'", five.publish, five, "a", "x", { properties = { content = "x" } })
  raises("property 'content_type' must be a string, not 5", five.publish, five, "a", "x", { properties = { content_type = 5 } })
  -- Each is at the line of the plan, also where a part of the module finds it.
  for call, fn in pairs {
    connect = function() local _ = mqtt.connect(user, { will = { topic = "" } }) end,
    publish = function() local _ = client:publish("a/+", "x") end,
    properties = function() local _ = five:publish("a", "x", { properties = { content = "x" } }) end,
    subscribe = function() local _ = client:subscribe "a/b+" end,
    receive = function() local _ = client:receive "later" end,
  } do
    same(select(2, pcall(fn)):find "mqtt%.lua:%d+: " ~= nil, true, "the line of " .. call)
  end
end }
