scenario { "buyers",
  headers = { ["X Test"] = "1" },
  task { function(user) user:get "/" end },
}
