scenario { "visitor",
  wait = { 5, 1 },
  task { "front page", function(user) user:get "/" end },
}
