task { "front page", wait = "soon", function(user) user:get "/" end }
