local users = data.lines "../lua/libraries.lua"

task { function(user) user:get "/" end }
