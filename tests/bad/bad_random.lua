local node = random.int(9, 1)

task { function(user) user:get("/node/" .. node) end }
