count = 0

task { function(user) user:get "/" end }
