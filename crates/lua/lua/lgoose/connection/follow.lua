-- Functions that wait while another one reads. A part of `lgoose.socketio` and `lgoose.graphql_ws`,
-- kept with the first.

local clock, min, setmetatable = os.clock, math.min, setmetatable

-- Waits while another function reads.
return function(c, item, deadline)
  local user, sleepers = c.user, c.sleepers
  local sleeper = user:spawn(function()
    -- Whoever is cancelled wakes nobody, be it the function that reads or this one.
    while sleepers[item] and c.leader and clock() < deadline do
      user:wait(min(0.1, deadline - clock()))
    end
  end, { life = "user" })
  sleepers[item] = sleeper
  local _ <close> = setmetatable({}, { __close = function() sleepers[item] = nil end })
  sleeper:join()
end
