local function front_page(user)
  user:get "/"
end

task { "front page", front_pgae }
