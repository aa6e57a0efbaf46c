scenario { "visitor",
  weigth = 4,
  task { "front page", function(user) user:get "/" end },
}
