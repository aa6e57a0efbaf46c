-- One user for each order; every request tells its scenario, so that the site sees the order of the tasks.

local function visits(name)
  return function(user) user:get("/" .. user.scenario .. "/" .. name) end
end

local function kind(order)
  return scenario { order, order = order, users = 1,
    task { "last", on_stop = true, weight = 2, visits "last" },
    task { "a", weight = 3, visits "a" },
    task { "b", weight = 1, visits "b" },
    task { "c", weight = 2, visits "c" },
    task { "second", sequence = 2, visits "second" },
    task { "first x", sequence = 1, weight = 2, visits "x" },
    task { "first y", sequence = 1, visits "y" },
    task { "open", on_start = true, sequence = 1, visits "open" },
    task { "enter", on_start = true, sequence = 2, visits "enter" },
    task { "both", on_start = true, on_stop = true, sequence = 3, visits "both" },
  }
end

kind "shuffled"
kind "round-robin"
kind "serial"
kind "random"
