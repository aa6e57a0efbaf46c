local function front_page(user)
  user:get "/"
end

scenario { "visitor", task { "front page", front_page } }

scenario { "visitor", task { "home", front_page } }
