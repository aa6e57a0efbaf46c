task { "front page", wait = wait.between "1s", function(user) user:get "/" end }
