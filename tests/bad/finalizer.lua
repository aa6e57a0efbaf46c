local box = setmetatable({}, { __gc = function() end })

task { function(user) user:get "/" end }
