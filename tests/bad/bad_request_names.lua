plan { request_names = "paht" }
task { function(user) user:get "/" end }
