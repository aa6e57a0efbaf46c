plan { thresholds = { "failures < 0.01" } }
task { function(user) user:get "/" end }
