plan { host = "demo:drupal", load = function(t) return t < 5 and 3 or '3/s' end }

task { function(user) user:get "/" end }
