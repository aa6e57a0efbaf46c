plan { host = "demo:drupal", load = function(t) return 'ten' end }

task { function(user) user:get "/" end }
