plan { host = "demo:drupal", load = 100 }

task { function(user) user:get "/" end }
