plan {
  throttle_requests = 0,
}
task { function(user) user:get "/" end }
