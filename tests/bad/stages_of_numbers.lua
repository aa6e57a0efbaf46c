plan { stages = { 10, 20 } }
task { function(user) user:get "/" end }
