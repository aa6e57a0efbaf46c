task { "front page", weight = 2.5, function(user) user:get "/" end }
