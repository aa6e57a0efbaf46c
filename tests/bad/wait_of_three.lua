task { "a", wait = { 1, 2, 3 }, function(user)
  user:get "/"
end }
