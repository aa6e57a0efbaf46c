-- Shows two hosts in one test: a scenario can have its own, and a request with a whole URL goes where that says.
-- The figures of both are in one report, by the names of the requests.

plan { host = "demo:drupal", users = 4, run_time = "10s" }

scenario { "reader", wait = 1,
  task { "article", function(user)
    user:get("/node/" .. random.int(1, 9999))
  end },
}

scenario { "customer", host = "demo:api", wait = 1,
  task { "product", function(user)
    user:get("/api/products/" .. random.int(1, 100))
  end },
  task { "by its whole URL", function(user)
    user:get(user.host .. "/about")
  end },
}

-- lgoose examples/two_hosts.lua
