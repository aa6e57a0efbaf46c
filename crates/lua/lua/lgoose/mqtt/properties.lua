-- Properties of version 5. A part of `lgoose.mqtt`, kept for messages that have some.

local core = ...

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

local byte, char, match, pack, unpack = string.byte, string.char, string.match, string.pack, string.unpack
local error, kind_of, pairs, pcall, tostring, type = error, math.type, pairs, pcall, tostring, type
local packets = core.keep "packets"
local varint, read_varint = packets.varint, packets.read_varint

local codec = {}

-- Returns properties as bytes.
function codec.write(owner, properties)
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
function codec.read(data, at, stop)
  local ok, properties, after = pcall(read_some_properties, data, at, stop)
  if ok then return properties, after end
end

return codec
