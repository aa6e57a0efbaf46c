task { "front page", wait = "5s", function(user) user:get "/" end }
