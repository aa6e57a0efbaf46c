-- Readers of the Drupal site who take their time: what a user costs in memory while it mostly waits.
-- With ASSETS=no they read pages only, on one connection each; else they load a page's assets as a browser
-- does, on up to six.

plan { host = "demo:drupal" }

local WITH_ASSETS = env("ASSETS", "yes") ~= "no"

scenario { "reader", wait = { 1, 3 },
  task { "front page", weight = 15, function(user)
    local page = user:get("/", { expect = { status = 200, title = "Welcome" } })
    if WITH_ASSETS then user:fetch(page:assets { "/misc", "/themes" }, { name = "static asset" }) end
  end },
  task { "node page", weight = 10, function(user)
    user:get("/node/" .. random.int(1, 9999))
  end },
  task { "user page", weight = 3, function(user)
    user:get("/user/" .. random.int(2, 5000))
  end },
}

-- benches/memory.sh runs it with 2,000 users.
