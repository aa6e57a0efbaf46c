scenario { "buyers",
  rate = "20/s",
  users = 3,
  task { function(user) user:get "/" end },
}
