-- A spike: an ordinary day, then ten times as many visitors within seconds, then the ordinary day again. Does the site
-- stay up, and does it recover?
--
--   lgoose plans/spike.lua                                              # against the built-in site
--   lgoose plans/spike.lua -H https://your-site.example -e SCALE=10     # against yours, with ten times as many

local scale = tonumber(env("SCALE", "1"))

local function stage(time, users)
  return time .. ":" .. math.floor(users * scale)
end

plan {
  host = "demo:drupal",
  stages = {
    stage("10s", 10), -- an ordinary day…
    stage("50s", 10),
    stage("5s", 100), -- …a link goes round…
    stage("1m", 100),
    stage("5s", 10), -- …and is forgotten
    stage("1m", 10),
  },
  thresholds = {
    "failures < 5%", -- in the spike some may fail
    -- Stop when the site is down for good.
    { "failures < 90%", during = "20s", abort = true },
    -- Readers may have to wait in the spike, but never for long.
    { "p95 < 5s", during = "10s" },
    ["GET front page"] = "p95 < 2s",
  },
}

local function front_page(user)
  local page = user:get("/", { expect = { status = 200, title = "Welcome" } })
  user:fetch(page:assets { "/misc", "/themes" }, { name = "asset" })
end

scenario { "visitor", wait = { 1, 5 },
  task { "front page", weight = 2, front_page },
  task { "article", weight = 3, function(user)
    user:get("/node/" .. random.int(1, 9999))
  end },
}
