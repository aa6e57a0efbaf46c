-- A run of its own: change the host, the load and the limits.
plan {
  host = "https://test.your-site.example",
  users = 300,
  hatch_rate = 50,
  run_time = "5m",
  thresholds = { "p95 < 300ms", "failures < 1%" },
}

scenario { "reader", wait = { 1, 3 },
  task { "front page", function(user) user:get("/", { expect = { status = 200 } }) end },
}
