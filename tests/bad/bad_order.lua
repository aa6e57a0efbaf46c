scenario { "visitor",
  order = "shufled",
  task { "front page", function(user) user:get "/" end },
}
