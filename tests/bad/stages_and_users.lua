plan {
  users = 5,
  stages = { "5m:10" },
}
task { function(user) user:get "/" end }
