math.randomseed(42)
task { function(user) user:get "/" end }
