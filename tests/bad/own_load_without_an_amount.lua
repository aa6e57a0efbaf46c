scenario { "buyers", start = "2m",
  task { function(user) user:get "/" end },
}
