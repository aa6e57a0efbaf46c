task { function(user) user:get "/" end }

print(debug.traceback())
