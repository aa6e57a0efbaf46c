-- Reasons for a refusal. A part of `lgoose.mqtt`.

local core = ...

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

-- Returns the text of a reason code, with the text that the server has added.
return function(code, data, at, stop)
  local text = string.match(REASONS, "\n" .. code .. " ([^\n]+)") or "reason code " .. code
  local properties = data and at <= stop and core.keep("packets").read_properties(data, at, stop)
  local added = properties and properties.reason_string
  return added and text .. ": " .. added or text
end
