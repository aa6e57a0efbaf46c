plan { exclude_tags = { 5 } }
task { function(user) user:get "/" end }
