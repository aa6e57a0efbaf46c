task { "front page", wait = wait.betwen(1, 5), function(user) user:get "/" end }
