-- Capacity: how many visits a second can the site take? The rate climbs in steps, whatever the site does, and the run
-- stops when latency or failures go beyond what is bearable. The table of thresholds says when that was, and the step
-- before is the answer: each takes 30 seconds.
--
--   lgoose plans/capacity.lua                # up to 200 visits a second
--   lgoose plans/capacity.lua -e TOP=2000    # up to 2,000

local top = tonumber(env("TOP", "200"))
local STEPS = 10

local stages = {}
for step = 1, STEPS do
  local rate = math.max(1, top * step // STEPS)
  stages[#stages + 1] = "5s:" .. rate .. "/s" -- climb
  stages[#stages + 1] = "25s:" .. rate .. "/s" -- hold
end

plan {
  host = "demo:drupal",
  stages = stages,
  arrivals = "poisson",
  max_users = 2000,
  thresholds = {
    { "p95 < 1s", during = "10s", abort = true },
    { "failures < 5%", during = "10s", abort = true },
  },
}

task { "visit", function(user)
  local page = user:get("/", { name = "front page", expect = { status = 200, title = "Welcome" } })
  user:fetch(page:assets { "/misc", "/themes" }, { name = "asset" })
  user:get("/node/" .. random.int(1, 9999), { name = "article" })
end }
