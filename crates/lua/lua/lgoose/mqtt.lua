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

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

-- Returns a duration in seconds; nil if it is none.
function core.seconds_of(duration)
  if type(duration) == "number" then return duration >= 0 and duration or nil end
  local is_valid, rule = pcall(wait.constant, duration)
  return is_valid and rule[1] or nil
end

-- The parts that have the methods.
local PART_OF = {
  publish = "publish",
  receive = "receive",
  subscribe = "topics",
  unsubscribe = "topics",
  ping = "control",
  disconnect = "control",
  close = "control",
}

core.meta = {
  __name = "mqtt client",
  __index = function(_, name)
    local owner = PART_OF[name]
    if not owner then return nil end
    local methods = owner == name and core.keep(owner) or core.load(owner)
    return methods[name]
  end,
  __close = function(client) client.is_reading = false end,
}

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.mqtt.Options
---@return lgoose.mqtt.Client
function mqtt.connect(user, options) return core.load "connect"(user, options) end

return mqtt
