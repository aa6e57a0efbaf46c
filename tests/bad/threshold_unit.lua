plan {
  users = 2,
  thresholds = {
    "failures < 1%",
    ["GET /cart"] = { "p95 < 300sec", abort = true },
  },
}
task { function(user) user:get "/" end }
