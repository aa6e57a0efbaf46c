scenario { "visitor",
  task { "front page", wait = 1, function(user) user:get "/" end },
  wait = { 5, 1 },
}
