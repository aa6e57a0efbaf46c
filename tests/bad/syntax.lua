task { "front page", function(user)
  if user.id == 1 do
    user:get "/"
  end
end }
