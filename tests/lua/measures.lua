-- What a plan measures itself: checks, metrics and transactions.

plan { thresholds = { ["kind=page, metric visits"] = "value < 100", ["visits{first=true, kind=page}"] = "value < 100" } }

local visits, depth = metric.counter "visits", metric.gauge "depth"
local fresh, length = metric.rate "fresh", metric.trend "length"

local function browse(user)
  local page = user:get "/form"
  visits:add()
  depth:add(user.iteration)
  fresh:add(user.iteration == 1)
  length:add(#page.body)
  visits:add(2, { kind = "page", first = user.iteration == 1 })
  check(page.ok, "the page is there")
  check(user.iteration ~= 2, "never the second time")
  return page
end

task { "browse", function(user)
  local page = user:transaction("look around", function()
    local page = browse(user)
    user:wait(0.001)
    user:fetch { "/size/10", "/size/20" }
    return page
  end)
  assert(page.status == 200, "a transaction gives what its function returns")
  local ok, problem = pcall(user.transaction, user, "break off", function()
    user:get "/size/30"
    error "broken off"
  end)
  assert(not ok and problem:find "broken off$", "the error goes on: " .. tostring(problem))
end }
