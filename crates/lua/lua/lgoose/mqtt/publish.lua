-- Publishing. A part of `lgoose.mqtt`, kept with the first message.

local core = ...

local PUBLISH_OPTIONS <const> = " name=string properties=table qos=qos retain=boolean"
-- A lookup in a table takes less time than one in that text.
local TYPES = { name = "string", properties = "table", qos = "number", retain = "boolean" }

local PUBLISH <const>, PUBACK <const>, PUBREC <const> = 3, 4, 5

local char, find, pack = string.char, string.find, string.pack
local error, len, pairs, tostring, type = error, utf8.len, pairs, tostring, type
local keep = core.keep
local packets = keep "packets"
local await, send, timed, varint, write_properties = packets.await, packets.send, packets.timed, packets.varint, packets.write_properties

-- Returns a payload as bytes; nil if it is none.
local function payload_of(payload)
  local kind = type(payload)
  if kind == "string" then return payload end
  if kind == "table" then return json.encode(payload) end
  if kind == "number" then return tostring(payload) end
  return payload == nil and "" or nil
end

local function are_options(options)
  if type(options) ~= "table" then return false end
  for name, value in pairs(options) do
    if type(value) ~= TYPES[name] then return false end
  end
  local qos = options.qos or 0
  return qos == 0 or qos == 1 or qos == 2
end

local function is_topic(topic)
  return type(topic) == "string" and topic ~= "" and #topic <= 65535 and not find(topic, "[+#\0]") and len(topic)
end

local function has_room(client) return client.in_flight < client.most_in_flight or nil end

local function publish(client, topic, payload, options)
  options = options or {}
  local bytes = payload_of(payload)
  if not bytes or not are_options(options) or not is_topic(topic) then
    local check = core.load "check"
    check.options("client:publish", options, PUBLISH_OPTIONS)
    check.name("client:publish", topic, 3)
    error("client:publish: the payload must be a string, a number or a table, not " .. type(payload), 2)
  end
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
    local exchanges = keep "exchange"
    local id = exchanges.take_id(client)
    local result, failed = exchanges.await(client, qos == 1 and PUBACK or PUBREC, id, { head, pack(">I2", id), properties, bytes })
    if result == true then return true end
    return nil, result or failed
  end)
end

return { publish = publish, payload_of = payload_of }
