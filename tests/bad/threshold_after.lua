plan { thresholds = { { "p95 < 300ms", after = "30s" } } }
task { function(user) user:get "/" end }
