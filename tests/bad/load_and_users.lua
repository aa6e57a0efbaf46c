plan { host = "demo:drupal", users = 10, load = function(t) return 10 end }

task { function(user) user:get "/" end }
