plan { co_mitigation = "mean" }
task { function(user) user:get "/" end }
