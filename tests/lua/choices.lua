-- Shows every choice of a run in the paths it requests: which task, which values.

local function chosen(user, what)
  local values = {
    user.id,
    what,
    random.int(1, 1000000),
    math.random(1000),
    random.choice { "red", "green", "blue" },
    random.weighted { often = 9, seldom = 1 },
    random.string(6),
    random.uuid(),
    string.format("%.6f", random.float()),
  }
  user:get("/user/" .. table.concat(values, "/"))
end

task { "a", weight = 4, function(user) chosen(user, "a") end }
task { "b", weight = 3, function(user) chosen(user, "b") end }
task { "c", weight = 2, function(user) chosen(user, "c") end }
