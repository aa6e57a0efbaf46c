plan { host = "demo:drupal", load = function(t) end }

task { function(user) user:get "/" end }
