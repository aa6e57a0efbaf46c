plan { shared_iterations = 0 }
task { function(user) user:get "/" end }
