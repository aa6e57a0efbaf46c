local users = data.csv "users.csv"

task { function(user) user:get "/" end }
