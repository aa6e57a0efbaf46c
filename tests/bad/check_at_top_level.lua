local seen = metric.counter "seen"

task { function(user) seen:add(check(user:get("/").ok, "front page") and 1 or 0) end }

check(seen, "counter")
