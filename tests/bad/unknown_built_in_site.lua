scenario {
  "visitor",
  host = "demo:drupl",
  task { function(user) user:get "/" end },
}
