plan { connections = "iter" }
task { function(user) user:get "/" end }
