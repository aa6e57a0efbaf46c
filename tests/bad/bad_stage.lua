plan {
  stages = { "5m:10", "ten users" } }
task { function(user) user:get "/" end }
