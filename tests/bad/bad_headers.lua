plan { headers = { "Accept: text/html" } }

task { function(user) user:get "/" end }
