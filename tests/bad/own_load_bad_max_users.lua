scenario {
  "buyers",
  rate = "5/s", max_users = 0,
  task { function(user) user:get "/" end },
}
