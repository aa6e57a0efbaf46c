sleep(1)

task { function(user) user:get "/" end }
