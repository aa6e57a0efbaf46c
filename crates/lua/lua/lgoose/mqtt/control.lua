-- Pings that the plan sends, and the end of a connection. A part of `lgoose.mqtt`.

local core = ...

local packets = core.keep "packets"

local CLOSED <const> = "closed early: the plan has closed the connection"

local methods = {}

local function ponged(client, number) return client.pongs >= number or nil end

function methods.ping(client)
  return packets.timed(client, "ping", function()
    local number = client.pings + 1
    client.pings = number
    local sent, problem = packets.send(client, "\xC0\0")
    if not sent then return nil, problem end
    return packets.await(client, client.timeout, ponged, number)
  end)
end

function methods.close(client) packets.broken(client, CLOSED) end

function methods.disconnect(client)
  if client.ok then packets.send(client, "\xE0\0") end
  methods.close(client)
end

return methods
