scenario { "visitor", host = "http//127.0.0.1:8080",
  task { function(user) user:get "/" end },
}
