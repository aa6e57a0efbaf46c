local function front_page(user)
  user:get "/"
end

scenario { "visitor",
  task { "front page", wieght = 10, front_page },
}
