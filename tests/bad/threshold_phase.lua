plan {
  thresholds = {
    "first_byte failures < 1%",
  },
}
task { function(user) user:get "/" end }
