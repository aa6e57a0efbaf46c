local saved

task { function(user) saved = user end }

saved:get "/"
