-- Shows a load on Redis: a connection for each user, commands as rows of their own, and a pipeline as one.

local redis = require "lgoose.redis"

plan { host = "demo:redis", users = 3, run_time = "10s", thresholds = { ["REDIS GET"] = "p95 < 100ms" } }

task { "connect", on_start = true, function(user)
  user.data.db = redis.connect(user, { timeout = "5s" })
end }

task { "basket", weight = 5, wait = { 0.05, 0.1 }, function(user)
  local db, key = user.data.db, "basket:" .. user.id
  db:set(key, random.words(3))
  check(db:get(key), "the basket is there")
end }

task { "visits", wait = 0.1, function(user)
  local day = "visits:" .. random.int(1, 7)
  local replies = user.data.db:pipeline({ { "INCR", day }, { "GET", day } }, { name = "visits" })
  check(replies and replies[1] > 0, "visits are counted")
end }

task { "leave", on_stop = true, function(user) user.data.db:close() end }

-- lgoose examples/redis.lua
