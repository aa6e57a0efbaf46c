local page = "/node/" + 1

task { function(user) user:get(page) end }
