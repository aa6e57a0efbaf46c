-- MQTT: what a server sends that it must not, and its refusals. The server sends what the identifier of a client says, in hexadecimal digits.

local test = require "test"
local same = test.same
local mqtt = require "lgoose.mqtt"

local count = 0

local function connect(user, version, hex, options)
  count = count + 1
  options = options or {}
  options.version, options.timeout, options.name = version, options.timeout or 5, "server"
  options.client_id = count .. "-" .. hex:gsub(" ", "")
  return mqtt.connect(user, options)
end

local NO_PACKET = "protocol: this is no packet of MQTT"
local MALFORMED = "protocol: a packet is malformed"
local NO_CLIENT = "protocol: the server accepts no client of MQTT"
local UNASKED = "protocol: a packet of this type comes unasked"
local NOT_SENT = "protocol: the server acknowledges what was not sent"
local OK = { [3] = "20 02 00 00", [5] = "20 03 00 00 00" }

task { "no connection", sequence = 1, function(user)
  for _, case in ipairs {
    { 3, "485454502f312e3120343030", NO_PACKET },
    { 3, "20ffffffff7f", "protocol: the length of a packet is malformed" },
    { 3, "20ffffff7f", "too large: a packet is larger than 'max_buffer'" },
    { 3, "200100", NO_CLIENT },
    { 3, "30020000", NO_CLIENT },
    { 3, "20020001", "unsupported protocol version" },
    { 3, "20020002", "client identifier not valid" },
    { 3, "20020003", "server unavailable" },
    { 3, "20020004", "bad user name or password" },
    { 3, "20020005", "not authorized" },
    { 3, "20020063", "reason code 99" },
    { 5, "20020001", "unsupported protocol version" },
    { 5, "2003008700", "not authorized" },
    { 5, "200900870 61f00036e6f21", "not authorized: no!" },
    { 5, "2003008900", "server busy" },
    { 5, "20030000 7f", MALFORMED },
    { 5, "2006000003 1f0009", MALFORMED },
    { 5, "2004000001 f0", MALFORMED },
    { 5, "20020000", MALFORMED },
    { 5, "f000", NO_PACKET },
  } do
    local client = connect(user, case[1], case[2])
    same(client.ok, false, "refused " .. case[2])
    same(client.error, case[3], "the reason for " .. case[2])
  end
  same(connect(user, 3, "2002", { timeout = "50ms" }).error, "timeout", "half a packet")
  same(connect(user, 5, "", { timeout = "50ms" }).error, "timeout", "no word")
end }

task { "what is received", sequence = 2, function(user)
  for _, case in ipairs {
    { 3, "40020001", NOT_SENT },
    { 3, "50020001", NOT_SENT },
    { 3, "62020001", "protocol: the server releases a message that it has not sent" },
    { 3, "70020001", NOT_SENT },
    { 3, "9003000100", NOT_SENT },
    { 3, "b0020001", NOT_SENT },
    { 3, "400101", MALFORMED },
    { 3, "d000", UNASKED },
    { 3, "c000", UNASKED },
    { 3, "20020000", UNASKED },
    { 3, "e000", NO_PACKET },
    { 3, "60020001", NO_PACKET },
    { 3, "3603000161", MALFORMED },
    { 3, "3003000561", MALFORMED },
    { 3, "32050001610000", MALFORMED },
    { 3, "3204000161 00", MALFORMED },
    { 3, "30020000", MALFORMED },
    { 3, "300101", MALFORMED },
    { 3, "30ffffff00", "too large: a packet is larger than 'max_buffer'" },
    { 5, "3003000161", MALFORMED },
    { 5, "3006000161 05 0100", MALFORMED },
    { 5, "e0018e", "closed early: the server has disconnected: session taken over" },
    { 5, "e000", "closed early: the server has disconnected" },
    { 5, "e0088b061f0003627965", "closed early: the server has disconnected: server shutting down: bye" },
    { 5, "f000", NO_PACKET },
  } do
    local client = connect(user, case[1], OK[case[1]] .. case[2], { max_buffer = 100000 })
    same(client.ok, true, "connected " .. tostring(client.error))
    local message, problem = client:receive(5)
    same(message, nil, "refused " .. case[2])
    same(problem, case[3], "the reason for " .. case[2])
    same(client.error, problem, "kept")
    same(client.ok, false, "closed")
    same(select(2, client:publish("a", "b")), problem, "every call says it")
  end
end }

task { "what is acknowledged", sequence = 3, function(user)
  local function publish(client) return client:publish("a", "b", { qos = 1 }) end
  local function publish_twice(client) return client:publish("a", "b", { qos = 2 }) end
  local function subscribe(client) return client:subscribe("a", { qos = 1 }) end
  for _, case in ipairs {
    { 3, "40020001", publish, true },
    { 3, "40020002", publish, nil, NOT_SENT },
    { 3, "50020001", publish, nil, NOT_SENT },
    { 3, "40020001", publish_twice, nil, NOT_SENT },
    { 3, "50020001 70020001", publish_twice, true },
    { 3, "50020001 70020002", publish_twice, nil, NOT_SENT },
    { 3, "50020001 50020001", publish_twice, nil, NOT_SENT },
    { 5, "4003000110", publish, true },
    { 5, "4003000197", publish, nil, "quota exceeded", true },
    { 5, "400a000187061f00036e6f21", publish, nil, "not authorized: no!", true },
    { 5, "5003000199", publish_twice, nil, "payload format invalid", true },
    { 5, "50020001 7003000192", publish_twice, nil, "reason code 146", true },
    { 3, "9003000101", subscribe, 1 },
    { 3, "9003000180", subscribe, nil, "unspecified error: a", true },
    { 3, "900400010000", subscribe, nil, "protocol: not each topic is acknowledged" },
    { 3, "90020001", subscribe, nil, "protocol: not each topic is acknowledged" },
    { 5, "90040001008f", subscribe, nil, "topic filter invalid: a", true },
    { 5, "9003000101", subscribe, nil, MALFORMED },
  } do
    -- It comes before it is due, which nobody can tell.
    local client = connect(user, case[1], OK[case[1]] .. case[2])
    local value, problem = case[3](client)
    same(value, case[4], "for " .. case[2])
    same(problem, case[5], "the reason for " .. case[2])
    same(client.ok, value ~= nil or case[6] == true, "open after " .. case[2])
    client:disconnect()
  end
end }

task { "limits", sequence = 4, function(user)
  local late = connect(user, 3, OK[3], { timeout = "50ms" })
  same(select(2, late:publish("a", "b", { qos = 1 })), "timeout", "no acknowledgement")
  same(select(2, late:ping()), "timeout", "no response")
  same(late.ok, true, "it may still come")
  same(late:publish("a", "b"), true, "goes on")
  late:disconnect()
  -- A message that was given up is still under way for the server.
  local one = connect(user, 5, "2006000003210001", { timeout = "50ms" })
  same(one.server.receive_maximum, 1, "one at a time")
  same(select(2, one:publish("a", "b", { qos = 2 })), "timeout", "no acknowledgement")
  same(select(2, one:publish("a", "b", { qos = 1 })), "timeout", "no room for another")
  one:disconnect()
  local none = connect(user, 5, "2007000004 2400 2500")
  same(select(2, none:publish("a", "b", { qos = 1 })), "QoS not supported: the server takes at most 0", "its most")
  same(select(2, none:publish("a", "b", { retain = true })), "retain not supported", "keeps nothing")
  same(none.ok, true, "and harms nothing")
  none:disconnect()
  local often = connect(user, 5, "2006000003130001")
  same(often.keep_alive, 1, "as the server says")
  often:close()
  -- Messages that arrive while an acknowledgement is waited for.
  local many = ("3003000161"):rep(4)
  local queued = connect(user, 3, OK[3] .. many .. "40020001", { max_buffer = 2000 })
  same(queued:publish("a", "b", { qos = 1 }), true, "they wait")
  for _ = 1, 4 do same(queued:receive(5).topic, "a", "none is lost") end
  queued:close()
  local full = connect(user, 3, OK[3] .. many .. many .. "40020001", { max_buffer = 2000 })
  same(
    select(2, full:publish("a", "b", { qos = 1 })),
    "too large: the messages that wait for client:receive take more than 'max_buffer'",
    "too many"
  )
  same(full:receive(5).topic, "a", "what has arrived can be taken")
  -- A message of QoS 2 is delivered once, however often it is sent before it is released.
  local twice = "340500016100073c050001610007"
  local once = connect(user, 3, OK[3] .. twice .. "62020007 3003000162")
  same(once:receive(5).topic, "a", "the first")
  same(once:receive(5).topic, "b", "the next")
  once:close()
  print "all refused"
end }
