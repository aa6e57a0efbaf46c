const paths = { "/", "/about" }

task { function(user) user:get(random.pick(paths)) end }
