local node = random.integer(1, 9)

task { function(user) user:get("/node/" .. node) end }
