plan {
  thresholds = {
    { "failures < 1%", abrot = true },
  },
}
task { function(user) user:get "/" end }
