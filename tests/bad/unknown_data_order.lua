local users = data.csv("ragged.csv", { order = "uniqe" })

task { function(user) user:get "/" end }
