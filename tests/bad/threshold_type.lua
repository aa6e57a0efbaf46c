plan { thresholds = 300 }
task { function(user) user:get "/" end }
