plan { thresholds = { "bytes < 10" } }
task { function(user) user:get "/" end }
