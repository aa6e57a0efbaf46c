-- Shows basic authentication in three ways: for one request, for all of a user's, and by hand.

plan { host = "demo:api", users = 3, run_time = "10s" }

scenario { "once", wait = 1,
  task { "per request", function(user)
    user:get("/basic", { auth = { "user1", "12345" } })
  end },
}

scenario { "always", wait = 1,
  task { "log in", on_start = true, function(user)
    user:basic_auth("user2", "12345")
  end },
  task { "per user", function(user)
    user:get("/basic", { expect = { json = { name = "user2" } } })
  end },
}

scenario { "by hand", wait = 1,
  task { "own header", function(user)
    user:get("/basic", { headers = { authorization = "Basic " .. base64.encode "user3:12345" } })
  end },
}

-- lgoose examples/basic_auth.lua
