task { "front page", wait = wait.between "soon", function(user) user:get "/" end }
