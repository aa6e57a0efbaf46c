task { "front page", on_start = "yes", function(user) user:get "/" end }
