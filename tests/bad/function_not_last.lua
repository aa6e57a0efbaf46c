task { function(user) user:get "/" end, "front page" }
