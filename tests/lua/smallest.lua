task { function(user) user:get "/" end }
