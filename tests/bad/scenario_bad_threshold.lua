scenario {
  "buyers",
  thresholds = "p95 < 300",
  task { function(user) user:get "/" end },
}
