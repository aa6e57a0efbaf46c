task { "front page", function(user)
  if user.id == 1 then
    user:get "/"
end }
