scenario { "buyers",
  rate = "20/s",
  weight = 3,
  task { function(user) user:get "/" end },
}
