task { "front page", function(user)
  user:get("/", { name = "front page" expect = { status = 200 } })
end }
