-- Packets that the server acknowledges. A part of `lgoose.mqtt`, kept with the first one.

local core = ...

local PUBREC <const>, PUBREL <const>, PUBCOMP <const> = 5, 6, 7
local SUBACK <const>, UNSUBACK <const> = 9, 11
local MALFORMED <const> = "protocol: a packet is malformed"

local byte, sub, pack, unpack = string.byte, string.sub, string.pack, string.unpack
local kind_of = math.type
local packets = core.keep "packets"
local await, send = packets.await, packets.send

local exchanges = {}

-- Takes an acknowledgement from a packet.
function exchanges.receive(client, kind, data, at, stop)
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
      properties, after = packets.read_properties(data, after, stop)
      if not properties then return nil, MALFORMED end
    end
    result = sub(data, after, stop)
  else
    local code = after <= stop and byte(data, after) or 0
    if code >= 128 then
      result = core.keep "reasons"(code, data, after + 1, stop)
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

local function acked(client, id)
  local result = client.pending[id]
  if kind_of(result) then return nil end
  client.pending[id] = nil
  return result
end

-- Returns an identifier that no exchange under way has.
function exchanges.take_id(client)
  local id, pending = client.id, client.pending
  repeat
    id = id % 65535 + 1
  until pending[id] == nil
  client.id = id
  return id
end

-- Sends a packet whose identifier is between two texts, and waits for its acknowledgement.
function exchanges.await(client, kind, id, packet)
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

return exchanges
