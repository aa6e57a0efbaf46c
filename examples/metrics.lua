-- Shows figures of the plan's own: they are in every report, and thresholds can judge them.

plan { host = "demo:drupal", users = 3, run_time = "10s", thresholds = { ["teasers"] = "min >= 1" } }

local articles = metric.counter "articles read"
local teasers = metric.trend "teasers" -- average, least, most, percentiles
local linked = metric.rate "with a link to an article" -- the share that is true
local longest = metric.gauge "bytes of the latest page"

task { "front page", wait = 1, function(user)
  local page = user:get "/"
  teasers:add(#page:css "h2")
  linked:add(page:contains "/node/")
  longest:add(page.size)
end }

task { "article", wait = 1, function(user)
  user:get("/node/" .. random.int(1, 9999))
  articles:add()
end }

-- lgoose examples/metrics.lua
