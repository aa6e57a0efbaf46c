task { function(user) user:get "/" end }
local id = json.get({}, "items[")
