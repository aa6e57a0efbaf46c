-- Shows the open model: visits begin at a fixed rate, at random moments, however long the site takes to answer.
-- Free users take them; if none is free, a new one is made, up to `max_users`.

plan {
  host = "demo:drupal",
  rate = "20/s",
  arrivals = "poisson",
  max_users = 200,
  run_time = "10s",
}

task { "visit", function(user)
  user:get("/", { name = "front page" })
  user:wait(0.2, 0.5)
  user:get("/node/" .. random.int(1, 9999), { name = "article" })
end }

-- lgoose examples/open_model.lua
