plan { vus = 10, duration = "30s" }
task { function(user) user:get "/" end }
