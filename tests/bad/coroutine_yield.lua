coroutine.yield()

task { function(user) user:get "/" end }
