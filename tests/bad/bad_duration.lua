plan { run_time = "5 minutes" }

task { function(user) user:get "/" end }
