plan { reset_stats = "yes" }
task { function(user) user:get "/" end }
