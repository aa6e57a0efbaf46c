local function paths(count)
  local list = {}
  for i = 1, count do
    list[i] = "/node/" .. i .. nil
  end
  return list
end
local all = paths(3)

task { function(user) user:get(all[1]) end }
