---The part of lgoose.mqtt that few connections need: properties and reasons of version 5, and WebSockets.
---@class lgoose.mqtt_more

-- Properties of version 5 (section 2.2.2.2): number, name and format. They are looked up in the text: tables would
-- cost each user more.
local PROPERTIES = [[

1 payload_format_indicator B
2 message_expiry_interval I4
3 content_type s2
8 response_topic s2
9 correlation_data s2
11 subscription_identifier varint
17 session_expiry_interval I4
18 assigned_client_identifier s2
19 server_keep_alive I2
21 authentication_method s2
22 authentication_data s2
23 request_problem_information B
24 will_delay_interval I4
25 request_response_information B
26 response_information s2
28 server_reference s2
31 reason_string s2
33 receive_maximum I2
34 topic_alias_maximum I2
35 topic_alias I2
36 maximum_qos B
37 retain_available B
38 user_properties pairs
39 maximum_packet_size I4
40 wildcard_subscription_available B
41 subscription_identifiers_available B
42 shared_subscription_available B
]]

-- Reasons for a refusal: 1 to 5 are those of CONNACK in version 3.
local REASONS = [[

1 unsupported protocol version
2 client identifier not valid
3 server unavailable
4 bad user name or password
5 not authorized
128 unspecified error
129 malformed packet
130 protocol error
131 implementation specific error
132 unsupported protocol version
133 client identifier not valid
134 bad user name or password
135 not authorized
136 server unavailable
137 server busy
138 banned
139 server shutting down
140 bad authentication method
141 keep alive timeout
142 session taken over
143 topic filter invalid
144 topic name invalid
147 receive maximum exceeded
149 packet too large
150 message rate too high
151 quota exceeded
152 administrative action
153 payload format invalid
154 retain not supported
155 QoS not supported
156 use another server
157 server moved
158 shared subscriptions not supported
159 connection rate exceeded
160 maximum connect time
161 subscription identifiers not supported
162 wildcard subscriptions not supported
]]

local byte, char, match, pack, unpack = string.byte, string.char, string.match, string.pack, string.unpack
local error, kind_of, pairs, pcall, tostring, type = error, math.type, pairs, pcall, tostring, type

-- Takes the functions that write and read integers of variable length.
return function(varint, read_varint)
  local more = {}

  -- Returns properties as bytes.
  function more.write_properties(owner, properties)
    local data = ""
    for name, value in pairs(properties) do
      local number, format = match(PROPERTIES, "\n(%d+) " .. tostring(name):gsub("%W", "_") .. " (%w+)\n")
      if not number then error(("%s: unknown property '%s'"):format(owner, tostring(name)), 3) end
      local is_pairs = format == "pairs"
      local expected = is_pairs and "table" or format == "s2" and "string" or "integer"
      if (kind_of(value) or type(value)) ~= expected or expected == "integer" and value < 0 then
        error(("%s: property '%s' must be a %s, not %s"):format(owner, name, expected, tostring(value)), 3)
      end
      local tag = char(number)
      if is_pairs then
        for key, text in pairs(value) do data = data .. tag .. pack(">s2s2", tostring(key), tostring(text)) end
      else
        data = data .. tag .. (format == "varint" and varint(value) or pack(">" .. format, value))
      end
    end
    return varint(#data) .. data
  end

  -- Reads properties that end before a place. Raises an error if they are malformed.
  local function read_some_properties(data, at, stop)
    local properties, length = {}, nil
    length, at = read_varint(data, at)
    local last = at + length
    if last > stop + 1 then error() end
    while at < last do
      local name, format = match(PROPERTIES, "\n" .. byte(data, at) .. " (%S+) (%w+)\n")
      at = at + 1
      if format == "pairs" then
        local pair = properties[name] or {}
        local key
        key, at = unpack(">s2", data, at)
        pair[key], at = unpack(">s2", data, at)
        properties[name] = pair
      elseif format == "varint" then
        properties[name], at = read_varint(data, at)
      else
        properties[name], at = unpack(">" .. format, data, at)
      end
    end
    if at > last then error() end
    return properties, at
  end

  -- Returns properties and the place behind them, or nil.
  function more.read_properties(data, at, stop)
    local ok, properties, after = pcall(read_some_properties, data, at, stop)
    if ok then return properties, after end
  end

  -- Returns the text of a reason code, with the text that the server has added.
  function more.reason_of(code, data, at, stop)
    local text = match(REASONS, "\n" .. code .. " ([^\n]+)") or "reason code " .. code
    local properties = data and at <= stop and more.read_properties(data, at, stop)
    local added = properties and properties.reason_string
    return added and text .. ": " .. added or text
  end

  -- A WebSocket as the socket of a client: each of its messages has some bytes of packets.
  function more.over_websocket(user, options)
    local socket = user:websocket(options.websocket, {
      name = options.name or "mqtt",
      subprotocols = { "mqtt" },
      timeout = options.timeout,
      max_buffer = options.max_buffer,
      tags = options.tags,
    })
    return {
      ok = socket.ok,
      error = socket.error,
      send = function(_, data)
        if socket:send_binary(type(data) == "table" and table.concat(data) or data) then return true end
        return nil, socket.error or "closed early: the server has closed the WebSocket"
      end,
      receive = function(_, _, rules)
        local message = socket:receive(rules)
        if message then return message.data end
        if socket.ok and not socket.close_code then return nil, "timeout" end
        return nil, socket.error or "closed early: the server has closed the WebSocket"
      end,
      close = function() socket:close() end,
    }
  end

  return more
end
