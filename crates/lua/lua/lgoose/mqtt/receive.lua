-- Messages of the server. A part of `lgoose.mqtt`, kept once the plan receives some.

local core = ...

local PUBACK <const>, PUBREC <const> = 4, 5
-- What a message that waits takes beside its bytes, about.
local MESSAGE_COST <const> = 400
local CLOSED <const> = "closed early: the plan has closed the connection"
local MALFORMED <const> = "protocol: a packet is malformed"

local sub, pack, unpack = string.sub, string.pack, string.unpack
local error, tostring = error, tostring
local seconds_of, packets = core.seconds_of, core.keep "packets"
local await, send, read_properties = packets.await, packets.send, packets.read_properties

local receiving = {}

-- Returns about how much memory a message takes that waits for the plan.
local function cost_of(message) return #message.topic + #message.payload + MESSAGE_COST end

-- Takes a message from a packet.
function receiving.message(client, first, data, at, stop)
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

local function has_message(client) return client.messages[client.first] and true or nil end

function receiving.receive(client, timeout)
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

return receiving
