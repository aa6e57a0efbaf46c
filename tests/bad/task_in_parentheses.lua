task("front page", function(user)
  user:get "/"
end)
