scenario { "visitor",
  task { "front page", weight = 3, function(user) user:get "/" end },
  task { "search", weight = 0, function(user) user:get "/search" end },
}
