-- Shows a whole small plan: log in once, then read two pages, with pauses as a visitor makes them.
-- It is the first example of Goose's book, for comparison.

plan { host = "demo:api", users = 3, run_time = "1m" }

scenario { "visitor", wait = { 5, 15 },
  task { "log in", on_start = true, function(user)
    user:post("/login", nil, { form = { username = "user7", password = "12345" } })
  end },
  task { "index", function(user)
    user:get "/"
  end },
  task { "about", function(user)
    user:get "/about"
  end },
}

-- lgoose examples/simple.lua
