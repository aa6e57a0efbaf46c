local places = data.csv("ragged.csv", { separator = ";;" })

task { function(user) user:get "/" end }
