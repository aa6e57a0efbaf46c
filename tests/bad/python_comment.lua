# my plan
task { function(user) user:get "/" end }
