plan { cache = "yes" }
task { function(user) user:get "/" end }
