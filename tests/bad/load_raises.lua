plan { host = "demo:drupal", load = function(t) return nothing.there end }

task { function(user) user:get "/" end }
