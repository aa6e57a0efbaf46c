plan { test_plan = "10 users, 5m" }
task { function(user) user:get "/" end }
