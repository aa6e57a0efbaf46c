-- Packets as they are sent, read and passed on. A part of `lgoose.mqtt`, kept with the first connection.

local core = ...

-- Types of packets. Constants take no memory of their own.
local CONNACK <const>, PUBLISH <const>, PUBACK <const>, PUBREL <const> = 2, 3, 4, 6
local UNSUBACK <const>, PINGRESP <const>, DISCONNECT <const> = 11, 13, 14

-- After this time a job beside which another one reads gives up if the connection has no 'timeout'.
local DEFAULT_TIMEOUT <const> = 60

local byte, char, sub = string.byte, string.char, string.sub
local clock, max, next = os.clock, math.max, next
local keep = core.keep

local packets = {}

function packets.varint(number)
  local digits = ""
  while number > 127 do
    digits, number = digits .. char(number & 127 | 128), number >> 7
  end
  return digits .. char(number)
end

-- Returns a number, and the place behind it.
local function read_varint(data, at)
  local number, shift = 0, 0
  repeat
    local digit = byte(data, at)
    if not digit then return nil, at end
    number = number | (digit & 127) << shift
    at, shift = at + 1, shift + 7
    if digit < 128 then return number, at end
  until shift == 28
  return nil, at
end

packets.read_varint = read_varint

-- Returns properties as bytes. Version 3 has none.
function packets.write_properties(owner, version, properties)
  if version == 3 then
    if properties then error(owner .. ": properties are for version 5", 3) end
    return ""
  end
  if not properties then return "\0" end
  return keep("properties").write(owner, properties)
end

-- Returns properties that end before a place, and the place behind them; nil if they are malformed.
local function read_properties(data, at, stop)
  if byte(data, at) == 0 then return {}, at + 1 end
  return keep("properties").read(data, at, stop)
end

packets.read_properties = read_properties

-- Lets all jobs that are parked look again.
local function wake(client)
  local parked = client.parked
  client.parked, client.wakes = nil, client.wakes + 1
  if not parked then return end
  for job in next, parked do job:cancel() end
end

local function broken(client, problem)
  if client.ok then
    client.ok, client.error = false, problem
    client.socket:close()
    wake(client)
  end
  return nil, client.error
end

local function send(client, data)
  local socket, begin = client.socket, clock()
  -- Another job's packet is sent to its end. Where that job was cancelled, the socket is closed.
  while client.is_sending and socket.ok do
    if clock() - begin > (client.timeout or DEFAULT_TIMEOUT) then return broken(client, "timeout") end
    keep "park"(client)
  end
  if not client.ok then return nil, client.error end
  client.is_sending = true
  local sent, problem = socket:send(data, client.send_options)
  client.is_sending, client.sent_at = false, clock()
  if not sent then return broken(client, problem) end
  wake(client)
  return true
end

-- Waits for a packet. Returns its first byte, and where its body is; nil and the reason if none comes.
local function next_packet(client, seconds)
  while true do
    local data, at = client.unread, client.at
    local missing, first = 1, byte(data, at)
    if first then
      local kind, flags = first >> 4, first & 15
      if
        kind < CONNACK
        or kind > (client.version == 5 and DISCONNECT or PINGRESP)
        or kind ~= PUBLISH and flags ~= (kind == PUBREL and 2 or 0)
      then
        return nil, "protocol: this is no packet of MQTT"
      end
      local length, body = read_varint(data, at + 1)
      if length then
        local stop = body + length - 1
        if stop - at >= client.most then return nil, "too large: a packet is larger than 'max_buffer'" end
        missing = stop - #data
        if missing <= 0 then
          if missing == 0 then
            client.unread, client.at = "", 1
          else
            client.at = stop + 1
          end
          return first, data, body, stop
        end
      elseif body - at > 4 then
        return nil, "protocol: the length of a packet is malformed"
      end
    end
    local more, problem = client.socket:receive(missing > 1 and missing or "some", { timeout = seconds })
    if not more then return nil, problem end
    client.unread, client.at = sub(data, at) .. more, 1
  end
end

local function dispatch(client, first, data, at, stop)
  local kind = first >> 4
  if kind == PUBLISH then return keep("receive").message(client, first, data, at, stop) end
  if kind == PINGRESP and client.pongs < client.pings then
    client.pongs = client.pongs + 1
    return true
  elseif kind == DISCONNECT then
    local code = byte(data, at)
    local why = at <= stop and code > 0 and ": " .. keep "reasons"(code, data, at + 1, stop) or ""
    return nil, "closed early: the server has disconnected" .. why
  elseif kind >= PUBACK and kind <= UNSUBACK and kind ~= 8 and kind ~= 10 then
    return keep("exchange").receive(client, kind, data, at, stop)
  end
  return nil, "protocol: a packet of this type comes unasked"
end

-- Reads a packet and does what it says.
local function read(client, seconds)
  -- Also where the job is cancelled, others may read on: what has arrived is kept.
  local _ <close> = client
  client.is_reading = true
  local first, data, at, stop = next_packet(client, seconds)
  if not first then
    if data == "timeout" then return nil, data end
    return broken(client, data)
  end
  local done, problem = dispatch(client, first, data, at, stop)
  if not done then return broken(client, problem) end
  return true
end

-- Reads packets until the function returns something, and returns that; nil and the reason if that takes too long.
local function await(client, timeout, ready, argument)
  local begin, has_read = clock(), false
  while true do
    local value = ready(client, argument)
    if value ~= nil then return value end
    if not client.ok then return nil, client.error end
    local is_read = client.is_reading
    -- Beside another job, the plan's timeout, by which sockets wait, is not known.
    local limit = timeout or is_read and DEFAULT_TIMEOUT or nil
    local left = limit and limit - (clock() - begin)
    -- What has arrived is read even where there is no time to wait.
    if left and left <= 0 and (has_read or is_read) then return nil, "timeout" end
    if is_read then
      -- Whoever reads hands over what the others wait for.
      keep "park"(client, left)
    else
      local done, problem = read(client, left and max(left, 0.001))
      has_read = true
      wake(client)
      if not done and not left then return nil, problem end
    end
  end
end

-- Measures an exchange.
function packets.timed(client, name, fn)
  return client.plan_user:timed(name, function()
    if not client.ok then return nil, client.error end
    return fn()
  end, client.row)
end

packets.broken, packets.send, packets.next_packet, packets.await = broken, send, next_packet, await

return packets
