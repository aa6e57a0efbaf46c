local token = os.getenv "TOKEN"

task { function(user) user:get("/?t=" .. token) end }
