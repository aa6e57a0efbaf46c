local front = task { "front page", weight = 2, function(user) user:get "/" end }
scenario { "visitor", front }
front.weight = 5
