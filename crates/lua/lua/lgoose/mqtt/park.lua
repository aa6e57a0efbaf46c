-- Jobs that share a connection: one waits for what another does. A part of `lgoose.mqtt`, kept once two have met.

-- For this long, in seconds, a job waits at a time until another job has read what it waits for.
local LONGEST_PARKED <const> = 0.25

-- Waits until another job has sent or read something, at most as many seconds.
return function(client, seconds)
  local user, wakes = client.plan_user, client.wakes
  local pause = math.min(seconds or LONGEST_PARKED, LONGEST_PARKED)
  local job = user:spawn(function() user:wait(pause) end)
  -- It may have happened while the job began.
  if client.wakes ~= wakes then return job:cancel() end
  local parked = client.parked or {}
  client.parked = parked
  parked[job] = true
  job:join()
  parked[job] = nil
end
