-- Shows chance with weights: of scenarios and tasks, where shares are exact, and inside a task, where they are drawn.

plan { host = "demo:api", users = 4, run_time = "10s" }

scenario { "reader", weight = 3, wait = 1,
  task { "product", weight = 9, function(user)
    user:get("/api/products/" .. random.int(1, 100))
  end },
  task { "about", weight = 1, function(user)
    user:get "/about"
  end },
}

scenario { "wanderer", weight = 1, wait = 1,
  task { "somewhere", function(user)
    local path = random.weighted { ["/"] = 6, ["/about"] = 3, ["/login"] = 1 }
    user:get(path, { name = path })
  end },
}

-- lgoose examples/weighted_choice.lua
