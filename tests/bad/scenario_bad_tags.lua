scenario {
  "buyers",
  tags = { ["1st"] = "x" },
  task { function(user) user:get "/" end },
}
