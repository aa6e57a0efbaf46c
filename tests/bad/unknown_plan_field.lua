plan {
  host = "http://127.0.0.1:8080",
  user = 12,
}

task { function(user) user:get "/" end }
