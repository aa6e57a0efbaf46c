-- Subscribing and unsubscribing. A part of `lgoose.mqtt`.

local core = ...

local SUBSCRIBE_OPTIONS <const> = " name=string no_local=boolean properties=table qos=qos retain_as_published=boolean retain_handling=qos"
local UNSUBSCRIBE_OPTIONS <const> = " name=string"

local SUBACK <const>, UNSUBACK <const> = 9, 11

local byte, char, pack = string.byte, string.char, string.pack
local error, type = error, type
local packets, exchanges = core.keep "packets", core.keep "exchange"
local timed, write_properties = packets.timed, packets.write_properties
local check = core.load "check"

-- Sends a packet with topics, and returns a string with a code for each.
local function exchange_topics(client, first, kind, properties, parts, count)
  local id = exchanges.take_id(client)
  local body = pack(">I2", id) .. properties .. table.concat(parts)
  local codes, problem = exchanges.await(client, kind, id, char(first) .. packets.varint(#body) .. body)
  if not codes then return nil, problem end
  if #codes ~= count then return packets.broken(client, "protocol: not each topic is acknowledged") end
  return codes
end

local methods = {}

function methods.subscribe(client, topics, options)
  options = options or {}
  check.options("client:subscribe", options, SUBSCRIBE_OPTIONS)
  local filters, parts = check.filters("client:subscribe", topics), {}
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
      if granted[i] > 2 then return nil, core.keep "reasons"(granted[i]) .. ": " .. filters[i] end
    end
    return type(topics) == "table" and granted or granted[1]
  end)
end

function methods.unsubscribe(client, topics, options)
  options = options or {}
  check.options("client:unsubscribe", options, UNSUBSCRIBE_OPTIONS)
  local filters, parts = check.filters("client:unsubscribe", topics), {}
  local is_new = client.version == 5
  for i = 1, #filters do parts[i] = pack(">s2", filters[i]) end
  return timed(client, options.name or "unsubscribe", function()
    local codes, problem = exchange_topics(client, 0xA2, UNSUBACK, is_new and "\0" or "", parts, is_new and #parts or 0)
    if not codes then return nil, problem end
    for i = 1, #codes do
      if byte(codes, i) > 127 then return nil, core.keep "reasons"(byte(codes, i)) .. ": " .. filters[i] end
    end
    return true
  end)
end

return methods
