random.int = function() return 4 end

task { function(user) user:get "/" end }
