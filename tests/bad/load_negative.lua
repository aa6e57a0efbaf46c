plan { host = "demo:drupal", load = function(t) return 5 - t end }

task { function(user) user:get "/" end }
