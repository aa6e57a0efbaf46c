local pages = 3
task { function(user) user:get("/" .. pages) end }
