plan {
  thresholds = { "failures < 1%", abort = true },
}
task { function(user) user:get "/" end }
