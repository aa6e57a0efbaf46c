local users = data.csv("empty.csv", { order = "unique" })

task { function(user) user:get "/" end }
