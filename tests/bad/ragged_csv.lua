local users = data.csv "ragged.csv"

task { function(user) user:get "/" end }
