local started = run.elapsed()

task { function(user) user:get("/" .. started) end }
