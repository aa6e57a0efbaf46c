plan { host = "http://127.0.0.1:8080", users = "twelve" }

task { function(user) user:get "/" end }
