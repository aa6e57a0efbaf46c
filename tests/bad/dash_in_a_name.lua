plan { run-time = "10s" }
task { function(user) user:get "/" end }
