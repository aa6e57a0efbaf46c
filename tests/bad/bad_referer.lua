plan { referer = "no" }
task { function(user) user:get "/" end }
