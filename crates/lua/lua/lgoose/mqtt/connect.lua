-- Connecting: the options and the CONNECT packet. A part of `lgoose.mqtt`.

local core = ...

local CONNECT_OPTIONS <const> = " address=string clean=boolean client_id=string keep_alive=duration max_buffer=count name=string password=string "
  .. "properties=table server_name=string session_expiry=duration tags=table timeout=duration tls=boolean user=string version=version "
  .. "websocket=string will=table"
local WILL_OPTIONS <const> = " payload=payload properties=table qos=qos retain=boolean topic=string"

local CONNACK <const> = 2
-- Fewer than there are identifiers of packets, since subscriptions have some of them.
local MOST_IN_FLIGHT <const> = 65000
local MALFORMED <const> = "protocol: a packet is malformed"

local byte, char, pack = string.byte, string.char, string.pack
local ceil, min = math.ceil, math.min
local error, pairs, setmetatable, type = error, pairs, setmetatable, type
local load, seconds_of = core.load, core.seconds_of
local packets = core.keep "packets"
local broken, next_packet, send, varint, write_properties =
  packets.broken, packets.next_packet, packets.send, packets.varint, packets.write_properties
local check = load "check"

-- Sends CONNECT, and waits until the server has accepted it.
local function greet(client, packet)
  local sent, problem = send(client, packet)
  if not sent then return nil, problem end
  local first, data, at, stop = next_packet(client, client.timeout)
  if not first then return broken(client, data) end
  local is_present, code = byte(data, at, at + 1)
  if first >> 4 ~= CONNACK or stop - at < 1 then return broken(client, "protocol: the server accepts no client of MQTT") end
  if code > 0 then return broken(client, core.keep "reasons"(code, data, at + 2, stop)) end
  client.session_present = is_present == 1
  if client.version == 3 then return true end
  local server = load "properties".read(data, at + 2, stop)
  if not server then return broken(client, MALFORMED) end
  client.server = server
  client.client_id = server.assigned_client_identifier or client.client_id
  client.most_in_flight = min(server.receive_maximum or MOST_IN_FLIGHT, MOST_IN_FLIGHT)
  client.keep_alive = server.server_keep_alive or client.keep_alive
  return true
end

return function(user, options)
  options = options or {}
  if type(user) ~= "table" then error("mqtt.connect takes the user: mqtt.connect(user, { … })", 2) end
  check.options("mqtt.connect", options, CONNECT_OPTIONS)
  local version, will = options.version or 3, options.will
  if version == 3 and options.session_expiry then error("mqtt.connect: option 'session_expiry' is for version 5", 2) end
  if options.websocket and (options.address or options.tls) then
    error("mqtt.connect: option 'websocket' has the address, and TLS by wss://", 2)
  end
  if version == 3 and options.password and not options.user then error("mqtt.connect: a password needs a user", 2) end
  local id = options.client_id or ("lgoose%dx%08x"):format(user.id, random.int(0, 0xFFFFFFFF))
  local keep_alive = ceil(seconds_of(options.keep_alive or 60))
  if keep_alive > 65535 then error("mqtt.connect: option 'keep_alive' is 65535 seconds at most", 2) end
  local properties = options.properties
  if options.session_expiry then
    properties = { session_expiry_interval = ceil(seconds_of(options.session_expiry)) }
    for name, value in pairs(options.properties or {}) do properties[name] = value end
  end
  local flags = options.clean == false and 0 or 2
  local parts = { "", write_properties("mqtt.connect", version, properties), pack(">s2", id) }
  if will then
    check.options("mqtt.connect: will", will, WILL_OPTIONS)
    check.name("mqtt.connect: will", will.topic, 3)
    flags = flags | 4 | (will.qos or 0) << 3 | (will.retain and 32 or 0)
    parts[4] = write_properties("mqtt.connect: will", version, will.properties)
    parts[5] = pack(">s2s2", will.topic, core.keep("publish").payload_of(will.payload))
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
  local socket = options.websocket and load "websocket"(user, options)
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
  }, core.meta)
  if not client.ok then return client end
  packets.timed(client, "connect", function() return greet(client, char(0x10) .. varint(#body) .. body) end)
  if client.ok and client.keep_alive > 0 then
    client.ping_after = client.keep_alive * 0.75
    core.keep "pings"(client)
  end
  return client
end
