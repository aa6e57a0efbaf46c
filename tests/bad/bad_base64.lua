local key = base64.decode "not base64!"

task { function(user) user:get "/" end }
