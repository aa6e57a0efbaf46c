scenario {
  "buyers",
  env = "REGION=eu",
  task { function(user) user:get "/" end },
}
