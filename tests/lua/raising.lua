-- Tasks that raise: counted with their line, the user goes on; one that raises at the start ends its user.

local function deep(user)
  user:get("/before", { name = "before" })
  local missing
  return missing.field
end

scenario { "steadfast", users = 1, order = "serial",
  task { "raises", deep },
  task { "says no", function() error "no" end },
  task { "asserts", function() assert(1 == 2, "one is not two") end },
  task { "raises in lgoose", function() random.int(2, 1) end },
  task { "raises without text", function() error() end },
  task { "yields", function() coroutine.yield(1) end },
  task { "misuses get", function(user) user:get(nil) end },
  task { "goes on", function(user) user:get("/after", { name = "after" }) end },
  task { "bye", on_stop = true, function(user) user:get("/bye", { name = "bye" }) end },
}

scenario { "doomed", users = 1,
  task { "start", on_start = true, function() error "cannot start" end },
  task { "never", function(user) user:get("/never", { name = "never" }) end },
  task { "never either", on_stop = true, function(user) user:get("/never", { name = "never" }) end },
}
