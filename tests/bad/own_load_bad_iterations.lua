scenario {
  "buyers",
  iterations = 1.5,
  task { function(user) user:get "/" end },
}
