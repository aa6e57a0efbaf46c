plan { rate = "5/s", arrivals = "often" }
task { function(user) user:get "/" end }
