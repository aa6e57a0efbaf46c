-- Shows a page with all that a browser loads for it: scripts, images and stylesheets, up to six at a time. `batch`
-- sends requests of any kind side by side.

plan { host = "demo:drupal", users = 3, run_time = "10s" }

scenario { "reader", wait = 1,
  task { "front page", function(user)
    user:transaction("the whole page", function()
      local page = user:get "/"
      user:fetch(page:assets { "/misc", "/themes" }, { name = "asset" })
    end)
  end },
  task { "two at once", function(user)
    local answers = user:batch {
      { path = "/node/1", name = "article" },
      { path = "/user", method = "HEAD", name = "account" },
    }
    check(answers[1].ok and answers[2].ok, "both came")
  end },
}

-- lgoose examples/assets.lua
