scenario { "buyers",
  users = 3,
  start = "soon",
  task { function(user) user:get "/" end },
}
