-- Shows a Goose load test as a plan: examples/from/goose.rs, transaction by transaction.

-- set_default(GooseDefault::Host, …)
plan { host = "demo:api", users = 5 }

-- scenario!("Visitor").set_wait_time(5 s, 15 s)
scenario { "Visitor", wait = { 5, 15 }, order = "round-robin",
  -- transaction!(log_in).set_on_start(), user.post_form
  task { "log in", on_start = true, function(user)
    user:post("/login", nil, { form = { username = "user7", password = "12345" } })
  end },
  -- set_name("index").set_weight(3), set_failure
  task { "index", weight = 3, function(user)
    user:get("/", { expect = { text = "Welcome" } })
  end },
  task { "about", function(user)
    user:get "/about"
  end },
}

-- lgoose examples/from/goose.lua -r 5 -t 1m
