-- Pings in the background, which show the server that the client is there. A part of `lgoose.mqtt`.

local core = ...

local clock, min, pairs = os.clock, math.min, pairs
local send = core.keep("packets").send

-- The clients to which pings are sent, each with a connection that is open, and the job that does so.
local pinged = setmetatable({}, { __mode = "k" })
local pinger, pinger_pause

-- Sends the pings that are due. Returns when the next one is; nothing if no connection is left.
local function ping_idle()
  local due, pause = {}, nil
  for client in pairs(pinged) do
    if client.ok then
      local left = client.sent_at + client.ping_after - clock()
      if left < 0.01 then
        due[#due + 1] = client
        left = client.ping_after
      end
      pause = min(pause or left, left)
    end
  end
  for i = 1, #due do
    local client = due[i]
    -- What is being sent shows the server just as well that the client is there.
    if client.ok and not client.is_sending then
      client.pings = client.pings + 1
      send(client, "\xC0\0")
    end
  end
  return pause
end

-- Has one job send the pings of all connections of the user. It does not keep those that the plan has dropped.
return function(client)
  local user, pause = client.plan_user, client.ping_after
  pinged[client] = true
  if pinger and pinger_pause <= pause then return end
  if pinger then pinger:cancel() end
  pinger_pause = pause
  pinger = user:spawn(function()
    while pause do
      user:wait(pause)
      pause = ping_idle()
    end
    pinger = nil
  end, { life = "user" })
end
