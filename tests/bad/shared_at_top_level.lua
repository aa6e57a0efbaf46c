local shared = require "lgoose.shared"
local number = shared.counter "users"

local mine = number:incr()

task { function(user) user:get("/" .. mine) end }
