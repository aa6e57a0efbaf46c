scenario {
  "buyers",
  users = 5, run_time = "10 parsecs",
  task { function(user) user:get "/" end },
}
