plan { thresholds = { { "count > 300", after = "30s" } } }
task { function(user) user:get "/" end }
