plan { users = 3, run_time = "1m" }
plan { users = 5 }
task { function(user) user:get "/" end }
