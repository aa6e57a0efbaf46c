local page = user:get "/"

task { function(user) user:get "/" end }
