scenario { "visitor", function(user) user:get "/" end }
