---MQTT 3.1.1 and 5: publish and subscribe with QoS 0, 1 and 2.
---
---    local mqtt = require "lgoose.mqtt"
---    local client = mqtt.connect(user, { address = "127.0.0.1:1883", client_id = "meter-" .. user.id })
---    client:subscribe("commands/" .. user.id, { qos = 1 })
---    client:publish("telemetry/" .. user.id, { temperature = 21.5 }, { qos = 1 })
---    local command = client:receive(5)
---
---The connection is the row `TCP mqtt`. Each exchange is a request: `MQTT connect` until the server has accepted the client, `MQTT publish`
---until the message is sent (QoS 0), acknowledged (QoS 1) or completed (QoS 2), `MQTT subscribe`, `MQTT unsubscribe` and `MQTT ping`. If the
---server refuses one, it fails with the server's reason. Jobs may share a connection: one can wait for messages while others publish.
---@class lgoose.mqtt
local mqtt = {}

---@class lgoose.mqtt.Options
---@field address? string # host:port (default: the host of the user, and its port)
---@field name? string # the row of the connection (default: "mqtt")
---@field version? 3|5 # 3 is MQTT 3.1.1 (default: 3)
---@field client_id? string # (default: a random one)
---@field user? string
---@field password? string
---@field keep_alive? lgoose.Duration # after this time without a packet, a ping is sent, also between tasks; 0 for none (default: 60)
---@field clean? boolean # begin without the session of an earlier connection (default: true)
---@field session_expiry? lgoose.Duration # with version 5: how long the server keeps the session after the end of the connection (default: 0)
---@field will? lgoose.mqtt.Will # what the server publishes if the connection ends without `client:disconnect()`
---@field properties? lgoose.mqtt.Properties # with version 5: of the CONNECT packet
---@field tls? boolean # (default: false)
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)
---@field websocket? string # connect over a WebSocket with this path or URL: "/mqtt"
---@field timeout? lgoose.Duration # for each exchange (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a packet, and of all messages that wait for `client:receive` (default: 1 MiB)
---@field tags? table<string, string|number|boolean> # of all its rows

---@class lgoose.mqtt.Will
---@field topic string
---@field payload? string|number|table # (default: nothing)
---@field qos? 0|1|2 # (default: 0)
---@field retain? boolean # (default: false)
---@field properties? lgoose.mqtt.Properties # with version 5

---Properties of MQTT 5 by their names in the standard, such as `message_expiry_interval`.
---@alias lgoose.mqtt.Properties table<string, string|integer|table<string, string>>

---A connection.
---@class lgoose.mqtt.Client
---@field ok boolean # whether it is open, and the server has accepted the client
---@field error? string # why it is not ok
---@field client_id string # its own, or the one that the server has assigned
---@field session_present boolean # whether the server had a session of this client
---@field server lgoose.mqtt.Properties # with version 5: the properties of CONNACK, such as `receive_maximum`
---@field publish fun(self: lgoose.mqtt.Client, topic: string, payload?: string|number|table, options?: lgoose.mqtt.PublishOptions): true?, string? # publishes a message, a table as JSON; returns nil and the reason if that failed
---@field subscribe fun(self: lgoose.mqtt.Client, topics: string|string[], options?: lgoose.mqtt.SubscribeOptions): (integer|integer[])?, string? # returns the granted QoS, of a list of topics a list; nil and the reason if the server refuses one
---@field unsubscribe fun(self: lgoose.mqtt.Client, topics: string|string[], options?: { name: string }): true?, string?
---@field receive fun(self: lgoose.mqtt.Client, timeout?: lgoose.Duration): lgoose.mqtt.Message?, string? # waits for the next message, and acknowledges it; nil and the reason if none arrived in time or the connection has ended
---@field ping fun(self: lgoose.mqtt.Client): true?, string? # sends a ping, and waits for the response
---@field disconnect fun(self: lgoose.mqtt.Client) # sends DISCONNECT, and closes the connection
---@field close fun(self: lgoose.mqtt.Client) # closes the connection without DISCONNECT, so that the server publishes the will

---@class lgoose.mqtt.PublishOptions
---@field qos? 0|1|2 # (default: 0)
---@field retain? boolean # (default: false)
---@field name? string # the row `MQTT name` (default: "publish")
---@field properties? lgoose.mqtt.Properties # with version 5

---@class lgoose.mqtt.SubscribeOptions
---@field qos? 0|1|2 # (default: 0)
---@field name? string # the row `MQTT name` (default: "subscribe")
---@field no_local? boolean # with version 5: not the messages of this client itself (default: false)
---@field retain_as_published? boolean # with version 5 (default: false)
---@field retain_handling? 0|1|2 # with version 5: 2 for no retained messages (default: 0)
---@field properties? lgoose.mqtt.Properties # with version 5

---@class lgoose.mqtt.Message
---@field topic string
---@field payload string
---@field qos 0|1|2
---@field retain boolean
---@field dup boolean
---@field properties? lgoose.mqtt.Properties # with version 5

-- The options of each call, with the type of each.
local CONNECT_OPTIONS <const> = " address=string clean=boolean client_id=string keep_alive=duration max_buffer=count name=string password=string "
  .. "properties=table server_name=string session_expiry=duration tags=table timeout=duration tls=boolean user=string version=version "
  .. "websocket=string will=table"
local WILL_OPTIONS <const> = " payload=payload properties=table qos=qos retain=boolean topic=string"
local PUBLISH_OPTIONS <const> = " name=string properties=table qos=qos retain=boolean"
local SUBSCRIBE_OPTIONS <const> = " name=string no_local=boolean properties=table qos=qos retain_as_published=boolean retain_handling=qos"
local UNSUBSCRIBE_OPTIONS <const> = " name=string"

-- Types of packets. Constants take no memory of their own.
local CONNACK <const>, PUBLISH <const>, PUBACK <const>, PUBREC <const>, PUBREL <const>, PUBCOMP <const> = 2, 3, 4, 5, 6, 7
local SUBACK <const>, UNSUBACK <const>, PINGRESP <const>, DISCONNECT <const> = 9, 11, 13, 14

-- What a message that waits takes beside its bytes, about.
local MESSAGE_COST <const> = 400
-- For this long, in seconds, a job waits at a time until another job has read what it waits for.
local LONGEST_PARKED <const> = 0.25
-- After this time a job beside which another one reads gives up if the connection has no 'timeout'.
local DEFAULT_TIMEOUT <const> = 60
-- Fewer than there are identifiers of packets, since subscriptions have some of them.
local MOST_IN_FLIGHT <const> = 65000

local byte, char, find, match, sub, pack, unpack =
  string.byte, string.char, string.find, string.match, string.sub, string.pack, string.unpack
local clock = os.clock
local error, kind_of, max, min, next, pairs, setmetatable, tostring, type =
  error, math.type, math.max, math.min, next, pairs, setmetatable, tostring, type

-- What the plan passes ------------------------------------------------------------------------------------

-- Returns a duration in seconds; nil if it is none.
local function seconds_of(duration)
  if type(duration) == "number" then return duration >= 0 and duration or nil end
  if type(duration) ~= "string" or not find(duration, "^[%d.]+%a[%d.%a]*$") then return nil end
  local total = 0
  for count, unit in duration:gmatch "([%d.]+)(%a+)" do
    local factor = match(" ms=0.001 s=1 m=60 h=3600 ", " " .. unit .. "=(%S+)")
    if not factor or not tonumber(count) then return nil end
    total = total + tonumber(count) * tonumber(factor)
  end
  return total
end

-- Returns a payload as bytes; nil if it is none.
local function payload_of(payload)
  local kind = type(payload)
  if kind == "string" then return payload end
  if kind == "table" then return json.encode(payload) end
  if kind == "number" then return tostring(payload) end
  return payload == nil and "" or nil
end

local function is_option(kind, value)
  if kind == "duration" then return seconds_of(value), 'a duration such as 5 or "500ms"' end
  if kind == "version" then return value == 3 or value == 5, "3, for MQTT 3.1.1, or 5" end
  if kind == "qos" then return value == 0 or value == 1 or value == 2, "0, 1 or 2" end
  if kind == "count" then return kind_of(value) == "integer" and value > 0, "a whole number, at least 1" end
  if kind == "payload" then return payload_of(value), "a string, a number or a table" end
  return type(value) == kind, "a " .. kind
end

-- Raises an error at the plan's line unless these are options of the call.
local function check_options(owner, options, known)
  if type(options) ~= "table" then error(owner .. ": the options are a table", 3) end
  for name, value in pairs(options) do
    local _, stop = find(known, " " .. tostring(name) .. "=", 1, true)
    if not stop then
      local names = sub(known:gsub("=%a+", ","), 2, -2)
      error(("%s: unknown option '%s'; options: %s"):format(owner, tostring(name), names), 3)
    end
    local is_valid, expected = is_option(match(known, "%a+", stop), value)
    if not is_valid then
      local shown = type(value) == "table" and "a table" or tostring(value)
      error(("%s: option '%s' must be %s, not %s"):format(owner, name, expected, shown), 3)
    end
  end
end

-- Raises an error unless this is a topic to publish to.
local function check_topic(owner, topic, level)
  if type(topic) ~= "string" then error(owner .. ": the topic must be a string, not " .. type(topic), level) end
  if topic == "" then error(owner .. ": the topic is empty", level) end
  if #topic > 65535 then error(owner .. ": the topic has more than 65535 bytes", level) end
  if find(topic, "\0", 1, true) or not utf8.len(topic) then error(owner .. ": the topic must be UTF-8 without NUL", level) end
end

local function check_name(owner, topic, level)
  check_topic(owner, topic, level + 1)
  if find(topic, "[+#]") then error(("%s: '%s' has a wildcard; only subscriptions take them"):format(owner, topic), level) end
end

-- Returns the topics as a list.
local function filters_of(owner, topics)
  local list = type(topics) == "table" and topics or { topics }
  if #list == 0 then error(owner .. ": name a topic", 3) end
  for i = 1, #list do
    local topic = list[i]
    check_topic(owner, topic, 4)
    -- A wildcard is a level of its own, and # the last one.
    if find(topic, "[^/][+#]") or find(topic, "[+#][^/]") or find(topic, "#/", 1, true) then
      error(("%s: a wildcard in '%s' is not a level of its own, or # is not the last"):format(owner, topic), 3)
    end
  end
  return list
end

-- Packets ------------------------------------------------------------------------------------------------

local function varint(number)
  local digits = ""
  while number > 127 do
    digits, number = digits .. char(number & 127 | 128), number >> 7
  end
  return digits .. char(number)
end

-- Returns a number, and the place behind it.
local function read_varint(data, at)
  local number, shift = 0, 0
  repeat
    local digit = byte(data, at)
    if not digit then return nil, at end
    number = number | (digit & 127) << shift
    at, shift = at + 1, shift + 7
    if digit < 128 then return number, at end
  until shift == 28
  return nil, at
end

-- Properties, reasons and WebSockets, which few connections need.
local rare

local function rarely()
  rare = rare or require "lgoose.mqtt_more"(varint, read_varint)
  return rare
end

-- Returns properties as bytes. Version 3 has none.
local function write_properties(owner, version, properties)
  if version == 3 then
    if properties then error(owner .. ": properties are for version 5", 3) end
    return ""
  end
  if not properties then return "\0" end
  return rarely().write_properties(owner, properties)
end

-- Returns properties that end before a place, and the place behind them; nil if they are malformed.
local function read_properties(data, at, stop)
  if byte(data, at) == 0 then return {}, at + 1 end
  return rarely().read_properties(data, at, stop)
end

local function reason_of(...) return rarely().reason_of(...) end

-- Sending and receiving ----------------------------------------------------------------------------------

-- The clients to which pings are sent, each with a connection that is open, and the job that does so.
local pinged = setmetatable({}, { __mode = "k" })
local pinger, pinger_pause

-- Waits until another job has sent or read something.
local function park(client, seconds)
  local user, wakes = client.plan_user, client.wakes
  local pause = min(seconds, LONGEST_PARKED)
  local job = user:spawn(function() user:wait(pause) end)
  -- It may have happened while the job began.
  if client.wakes ~= wakes then return job:cancel() end
  local parked = client.parked or {}
  client.parked = parked
  parked[job] = true
  job:join()
  parked[job] = nil
end

-- Lets all jobs that are parked look again.
local function wake(client)
  local parked = client.parked
  client.parked, client.wakes = nil, client.wakes + 1
  if not parked then return end
  for job in next, parked do job:cancel() end
end

local function broken(client, problem)
  if client.ok then
    client.ok, client.error = false, problem
    pinged[client] = nil
    client.socket:close()
    wake(client)
  end
  return nil, client.error
end

local function send(client, data)
  local socket, begin = client.socket, clock()
  -- Another job's packet is sent to its end. Where that job was cancelled, the socket is closed.
  while client.is_sending and socket.ok do
    if clock() - begin > (client.timeout or DEFAULT_TIMEOUT) then return broken(client, "timeout") end
    park(client, LONGEST_PARKED)
  end
  if not client.ok then return nil, client.error end
  client.is_sending = true
  local sent, problem = socket:send(data, client.send_options)
  client.is_sending, client.sent_at = false, clock()
  if not sent then return broken(client, problem) end
  wake(client)
  return true
end

-- Waits for a packet. Returns its first byte, and where its body is; nil and the reason if none comes.
local function next_packet(client, seconds)
  while true do
    local data, at = client.unread, client.at
    local missing, first = 1, byte(data, at)
    if first then
      local kind, flags = first >> 4, first & 15
      if
        kind < CONNACK
        or kind > (client.version == 5 and DISCONNECT or PINGRESP)
        or kind ~= PUBLISH and flags ~= (kind == PUBREL and 2 or 0)
      then
        return nil, "protocol: this is no packet of MQTT"
      end
      local length, body = read_varint(data, at + 1)
      if length then
        local stop = body + length - 1
        if stop - at >= client.most then return nil, "too large: a packet is larger than 'max_buffer'" end
        missing = stop - #data
        if missing <= 0 then
          if missing == 0 then
            client.unread, client.at = "", 1
          else
            client.at = stop + 1
          end
          return first, data, body, stop
        end
      elseif body - at > 4 then
        return nil, "protocol: the length of a packet is malformed"
      end
    end
    local more, problem = client.socket:receive(missing > 1 and missing or "some", { timeout = seconds })
    if not more then return nil, problem end
    client.unread, client.at = sub(data, at) .. more, 1
  end
end

local CLOSED <const> = "closed early: the plan has closed the connection"
local MALFORMED <const> = "protocol: a packet is malformed"

-- Returns about how much memory a message takes that waits for the plan.
local function cost_of(message) return #message.topic + #message.payload + MESSAGE_COST end

local function receive_message(client, first, data, at, stop)
  local qos = first >> 1 & 3
  if qos == 3 or stop - at < 1 then return nil, MALFORMED end
  local after = at + 2 + unpack(">I2", data, at)
  local topic = sub(data, at + 2, after - 1)
  if after + (qos > 0 and 2 or 0) > stop + 1 or topic == "" then return nil, MALFORMED end
  local id, ack, properties
  if qos > 0 then
    id, after = unpack(">I2", data, after)
    if id == 0 then return nil, MALFORMED end
    ack = pack(">BBI2", (qos == 1 and PUBACK or PUBREC) << 4, 2, id)
  end
  if client.version == 5 then
    properties, after = read_properties(data, after, stop)
    if not properties then return nil, MALFORMED end
  end
  if qos == 2 then
    if client.received[id] then return send(client, ack) end
    client.received[id] = true
  end
  local message = {
    topic = topic,
    payload = sub(data, after, stop),
    qos = qos,
    retain = first & 1 == 1,
    dup = first & 8 == 8,
    properties = properties,
  }
  local last, waiting = client.last + 1, client.waiting + cost_of(message)
  if waiting > client.most and client.waiting > 0 then
    return nil, "too large: the messages that wait for client:receive take more than 'max_buffer'"
  end
  client.messages[last] = message
  client.acks[last] = ack
  client.last, client.waiting = last, waiting
  return true
end

local function receive_ack(client, kind, data, at, stop)
  if stop - at < 1 then return nil, MALFORMED end
  local id, after = unpack(">I2", data, at)
  if kind == PUBREL then
    -- An earlier connection may have received the message.
    if not client.received[id] and not client.session_present then
      return nil, "protocol: the server releases a message that it has not sent"
    end
    client.received[id] = nil
    return send(client, pack(">BBI2", PUBCOMP << 4, 2, id))
  end
  -- A number is the packet that is expected, negative if nobody waits for it any longer.
  local pending = client.pending[id]
  if kind ~= pending and kind_of(pending) ~= "integer" or kind ~= pending and kind ~= -pending then
    return nil, "protocol: the server acknowledges what was not sent"
  end
  local result = true
  if kind == SUBACK or kind == UNSUBACK then
    if client.version == 5 then
      local properties
      properties, after = read_properties(data, after, stop)
      if not properties then return nil, MALFORMED end
    end
    result = sub(data, after, stop)
  else
    local code = after <= stop and byte(data, after) or 0
    if code >= 128 then
      result = reason_of(code, data, after + 1, stop)
    elseif kind == PUBREC then
      client.pending[id] = pending < 0 and -PUBCOMP or PUBCOMP
      return send(client, pack(">BBI2", PUBREL << 4 | 2, 2, id))
    end
    client.in_flight = client.in_flight - 1
  end
  if pending < 0 then result = nil end
  client.pending[id] = result
  return true
end

local function dispatch(client, first, data, at, stop)
  local kind = first >> 4
  if kind == PUBLISH then return receive_message(client, first, data, at, stop) end
  if kind == PINGRESP and client.pongs < client.pings then
    client.pongs = client.pongs + 1
    return true
  elseif kind == DISCONNECT then
    local code = byte(data, at)
    local why = at <= stop and code > 0 and ": " .. reason_of(code, data, at + 1, stop) or ""
    return nil, "closed early: the server has disconnected" .. why
  elseif kind >= PUBACK and kind <= UNSUBACK and kind ~= 8 and kind ~= 10 then
    return receive_ack(client, kind, data, at, stop)
  end
  return nil, "protocol: a packet of this type comes unasked"
end

-- Reads a packet and does what it says.
local function read(client, seconds)
  -- Also where the job is cancelled, others may read on: what has arrived is kept.
  local _ <close> = client
  client.is_reading = true
  local first, data, at, stop = next_packet(client, seconds)
  if not first then
    if data == "timeout" then return nil, data end
    return broken(client, data)
  end
  local done, problem = dispatch(client, first, data, at, stop)
  if not done then return broken(client, problem) end
  return true
end

-- Reads packets until the function returns something, and returns that; nil and the reason if that takes too long.
local function await(client, timeout, ready, argument)
  local begin, has_read = clock(), false
  while true do
    local value = ready(client, argument)
    if value ~= nil then return value end
    if not client.ok then return nil, client.error end
    local is_read = client.is_reading
    -- Beside another job, the plan's timeout, by which sockets wait, is not known.
    local limit = timeout or is_read and DEFAULT_TIMEOUT or nil
    local left = limit and limit - (clock() - begin)
    -- What has arrived is read even where there is no time to wait.
    if left and left <= 0 and (has_read or is_read) then return nil, "timeout" end
    if is_read then
      -- Whoever reads hands over what the others wait for.
      park(client, left)
    else
      local done, problem = read(client, left and max(left, 0.001))
      has_read = true
      wake(client)
      if not done and not left then return nil, problem end
    end
  end
end

-- Exchanges ----------------------------------------------------------------------------------------------

local function timed(client, name, fn)
  return client.plan_user:timed(name, function()
    if not client.ok then return nil, client.error end
    return fn()
  end, client.row)
end

local function acked(client, id)
  local result = client.pending[id]
  if kind_of(result) then return nil end
  client.pending[id] = nil
  return result
end

local function has_room(client) return client.in_flight < client.most_in_flight or nil end

-- Returns an identifier that no exchange under way has.
local function take_id(client)
  local id, pending = client.id, client.pending
  repeat
    id = id % 65535 + 1
  until pending[id] == nil
  client.id = id
  return id
end

-- Sends a packet whose identifier is between two texts, and waits for its acknowledgement.
local function exchange(client, kind, id, packet)
  local pending = client.pending
  pending[id] = kind
  local result
  local sent, problem = send(client, packet)
  if sent then
    result, problem = await(client, client.timeout, acked, id)
  end
  if result ~= nil then return result end
  -- It may still come.
  if kind_of(pending[id]) then pending[id] = -pending[id] end
  return nil, problem
end

local methods = {}

function methods.publish(client, topic, payload, options)
  options = options or {}
  check_options("client:publish", options, PUBLISH_OPTIONS)
  check_name("client:publish", topic, 3)
  local bytes = payload_of(payload)
  if not bytes then error("client:publish: the payload must be a string, a number or a table, not " .. type(payload), 2) end
  local properties = write_properties("client:publish", client.version, options.properties)
  local qos, server = options.qos or 0, client.server
  local retain = options.retain and 1 or 0
  local length = 2 + #topic + (qos > 0 and 2 or 0) + #properties + #bytes
  if length > 268435455 then error("client:publish: a packet has 256 MiB at most", 2) end
  local head = char(PUBLISH << 4 | qos << 1 | retain) .. varint(length) .. pack(">s2", topic)
  return timed(client, options.name or "publish", function()
    if qos > (server.maximum_qos or 2) then return nil, "QoS not supported: the server takes at most " .. server.maximum_qos end
    if retain > (server.retain_available or 1) then return nil, "retain not supported" end
    local most = server.maximum_packet_size
    if most and #head + length - 2 - #topic > most then return nil, "packet too large: the server takes at most " .. most .. " bytes" end
    if qos == 0 then return send(client, { head, properties, bytes }) end
    local _, problem = await(client, client.timeout, has_room)
    if problem then return nil, problem end
    client.in_flight = client.in_flight + 1
    local id = take_id(client)
    local result, failed = exchange(client, qos == 1 and PUBACK or PUBREC, id, { head, pack(">I2", id), properties, bytes })
    if result == true then return true end
    return nil, result or failed
  end)
end

-- Sends a packet with topics, and returns a string with a code for each.
local function exchange_topics(client, first, kind, properties, parts, count)
  local id = take_id(client)
  local body = pack(">I2", id) .. properties .. table.concat(parts)
  local codes, problem = exchange(client, kind, id, char(first) .. varint(#body) .. body)
  if not codes then return nil, problem end
  if #codes ~= count then return broken(client, "protocol: not each topic is acknowledged") end
  return codes
end

function methods.subscribe(client, topics, options)
  options = options or {}
  check_options("client:subscribe", options, SUBSCRIBE_OPTIONS)
  local filters, parts = filters_of("client:subscribe", topics), {}
  local properties = write_properties("client:subscribe", client.version, options.properties)
  local flags = options.qos or 0
  if client.version == 3 then
    if options.no_local or options.retain_as_published or options.retain_handling then
      error("client:subscribe: only version 5 has such options", 2)
    end
  else
    flags = flags
      | (options.no_local and 4 or 0)
      | (options.retain_as_published and 8 or 0)
      | (options.retain_handling or 0) << 4
  end
  for i = 1, #filters do parts[i] = pack(">s2B", filters[i], flags) end
  return timed(client, options.name or "subscribe", function()
    local codes, problem = exchange_topics(client, 0x82, SUBACK, properties, parts, #parts)
    if not codes then return nil, problem end
    local granted = { byte(codes, 1, -1) }
    for i = 1, #granted do
      if granted[i] > 2 then return nil, reason_of(granted[i]) .. ": " .. filters[i] end
    end
    return type(topics) == "table" and granted or granted[1]
  end)
end

function methods.unsubscribe(client, topics, options)
  options = options or {}
  check_options("client:unsubscribe", options, UNSUBSCRIBE_OPTIONS)
  local filters, parts = filters_of("client:unsubscribe", topics), {}
  local is_new = client.version == 5
  for i = 1, #filters do parts[i] = pack(">s2", filters[i]) end
  return timed(client, options.name or "unsubscribe", function()
    local codes, problem = exchange_topics(client, 0xA2, UNSUBACK, is_new and "\0" or "", parts, is_new and #parts or 0)
    if not codes then return nil, problem end
    for i = 1, #codes do
      if byte(codes, i) > 127 then return nil, reason_of(byte(codes, i)) .. ": " .. filters[i] end
    end
    return true
  end)
end

local function has_message(client) return client.messages[client.first] and true or nil end

function methods.receive(client, timeout)
  local seconds = client.timeout
  if timeout ~= nil then
    seconds = seconds_of(timeout)
    if not seconds then error('client:receive takes a duration such as 5 or "500ms", not ' .. tostring(timeout), 2) end
  end
  local was_open = client.ok
  local ready, problem = await(client, seconds, has_message)
  if not ready then
    -- No exchange that is measured fails, nor does the socket where the end comes between two packets.
    if was_open and not client.ok and problem ~= CLOSED and not client.is_counted then
      client.is_counted = true
      client.plan_user:record { kind = "MQTT", name = "receive", time = 0, error = problem, tags = client.row.tags }
    end
    return nil, problem
  end
  local first = client.first
  local message, ack = client.messages[first], client.acks[first]
  client.messages[first], client.acks[first], client.first = nil, nil, first + 1
  client.waiting = client.waiting - cost_of(message)
  if ack and client.ok then send(client, ack) end
  return message
end

local function ponged(client, number) return client.pongs >= number or nil end

function methods.ping(client)
  return timed(client, "ping", function()
    local number = client.pings + 1
    client.pings = number
    local sent, problem = send(client, "\xC0\0")
    if not sent then return nil, problem end
    return await(client, client.timeout, ponged, number)
  end)
end

function methods.close(client) broken(client, CLOSED) end

function methods.disconnect(client)
  if client.ok then send(client, "\xE0\0") end
  methods.close(client)
end

-- Pings --------------------------------------------------------------------------------------------------

-- Sends the pings that are due. Returns when the next one is; nothing if no connection is left.
local function ping_idle()
  local due, pause = {}, nil
  for client in pairs(pinged) do
    local left = client.sent_at + client.ping_after - clock()
    if left < 0.01 then
      due[#due + 1] = client
      left = client.ping_after
    end
    pause = min(pause or left, left)
  end
  for i = 1, #due do
    local client = due[i]
    -- What is being sent shows the server just as well that the client is there.
    if client.ok and not client.is_sending then
      client.pings = client.pings + 1
      send(client, "\xC0\0")
    end
  end
  return pause
end

-- Has one job send the pings of all connections of the user. It does not keep those that the plan has dropped.
local function start_pings(client)
  local user, pause = client.plan_user, client.ping_after
  pinged[client] = true
  if pinger and pinger_pause <= pause then return end
  if pinger then pinger:cancel() end
  pinger_pause = pause
  pinger = user:spawn(function()
    while pause do
      user:wait(pause)
      pause = ping_idle()
    end
    pinger = nil
  end, { life = "user" })
end

-- Connecting ---------------------------------------------------------------------------------------------

-- Sends CONNECT, and waits until the server has accepted it.
local function greet(client, packet)
  local sent, problem = send(client, packet)
  if not sent then return nil, problem end
  local first, data, at, stop = next_packet(client, client.timeout)
  if not first then return broken(client, data) end
  local is_present, code = byte(data, at, at + 1)
  if first >> 4 ~= CONNACK or stop - at < 1 then return broken(client, "protocol: the server accepts no client of MQTT") end
  if code > 0 then return broken(client, reason_of(code, data, at + 2, stop)) end
  client.session_present = is_present == 1
  if client.version == 3 then return true end
  local server = read_properties(data, at + 2, stop)
  if not server then return broken(client, MALFORMED) end
  client.server = server
  client.client_id = server.assigned_client_identifier or client.client_id
  client.most_in_flight = min(server.receive_maximum or MOST_IN_FLIGHT, MOST_IN_FLIGHT)
  client.keep_alive = server.server_keep_alive or client.keep_alive
  return true
end

local client_meta = {
  __name = "mqtt client",
  __index = methods,
  __close = function(client) client.is_reading = false end,
}

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.mqtt.Options
---@return lgoose.mqtt.Client
function mqtt.connect(user, options)
  options = options or {}
  if type(user) ~= "table" then error("mqtt.connect takes the user: mqtt.connect(user, { … })", 2) end
  check_options("mqtt.connect", options, CONNECT_OPTIONS)
  local version, will = options.version or 3, options.will
  if version == 3 and options.session_expiry then error("mqtt.connect: option 'session_expiry' is for version 5", 2) end
  if options.websocket and (options.address or options.tls) then
    error("mqtt.connect: option 'websocket' has the address, and TLS by wss://", 2)
  end
  if version == 3 and options.password and not options.user then error("mqtt.connect: a password needs a user", 2) end
  local id = options.client_id or ("lgoose%dx%08x"):format(user.id, random.int(0, 0xFFFFFFFF))
  local keep_alive = math.ceil(seconds_of(options.keep_alive or 60))
  if keep_alive > 65535 then error("mqtt.connect: option 'keep_alive' is 65535 seconds at most", 2) end
  local properties = options.properties
  if options.session_expiry then
    properties = { session_expiry_interval = math.ceil(seconds_of(options.session_expiry)) }
    for name, value in pairs(options.properties or {}) do properties[name] = value end
  end
  local flags = options.clean == false and 0 or 2
  local parts = { "", write_properties("mqtt.connect", version, properties), pack(">s2", id) }
  if will then
    check_options("mqtt.connect: will", will, WILL_OPTIONS)
    check_name("mqtt.connect: will", will.topic, 3)
    flags = flags | 4 | (will.qos or 0) << 3 | (will.retain and 32 or 0)
    parts[4] = write_properties("mqtt.connect: will", version, will.properties)
    parts[5] = pack(">s2s2", will.topic, payload_of(will.payload))
  end
  if options.user then
    flags = flags | 128
    parts[#parts + 1] = pack(">s2", options.user)
  end
  if options.password then
    flags = flags | 64
    parts[#parts + 1] = pack(">s2", options.password)
  end
  parts[1] = pack(">s2BBI2", "MQTT", version == 3 and 4 or 5, flags, keep_alive)
  local body = table.concat(parts)
  local socket = options.websocket and rarely().over_websocket(user, options)
    or user:tcp(options.address, {
      name = options.name or "mqtt",
      tls = options.tls,
      server_name = options.server_name,
      timeout = options.timeout,
      max_buffer = options.max_buffer,
      tags = options.tags,
    })
  local client = setmetatable({
    socket = socket,
    ok = socket.ok,
    error = socket.error,
    version = version,
    client_id = id,
    session_present = false,
    server = {},
    keep_alive = keep_alive,
    timeout = options.timeout and seconds_of(options.timeout),
    send_options = options.timeout and { timeout = options.timeout },
    most = options.max_buffer or 1 << 20,
    plan_user = user,
    row = { kind = "MQTT", tags = options.tags },
    -- Bytes that have arrived, and how far they were read.
    unread = "",
    at = 1,
    -- Messages that wait for the plan, their acknowledgements, and how much memory they take.
    messages = {},
    acks = {},
    first = 1,
    last = 0,
    waiting = 0,
    -- Exchanges under way by their identifiers, and messages of QoS 2 that the server has not released.
    pending = {},
    received = {},
    id = 0,
    in_flight = 0,
    most_in_flight = MOST_IN_FLIGHT,
    pings = 0,
    pongs = 0,
    wakes = 0,
    is_reading = false,
    is_sending = false,
    sent_at = 0,
  }, client_meta)
  if not client.ok then return client end
  timed(client, "connect", function() return greet(client, char(0x10) .. varint(#body) .. body) end)
  if client.ok and client.keep_alive > 0 then
    client.ping_after = client.keep_alive * 0.75
    start_pings(client)
  end
  return client
end

return mqtt
