function on_start(user)
  user:get "/login"
end
task { function(user) user:get "/" end }
