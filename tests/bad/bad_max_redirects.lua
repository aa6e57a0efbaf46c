plan { max_redirects = -1 }
task { function(user) user:get "/" end }
