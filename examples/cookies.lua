-- Shows cookies: every user has a jar of its own that is filled by the site, and can be read, filled and emptied.

plan { host = "demo:api", users = 3, run_time = "10s" }

scenario { "visitor", wait = 1, order = "serial",
  task { "log in", function(user)
    user:post("/login", nil, { form = { username = "user7", password = "12345" }, expect = { redirect = "/account" } })
    check(user.cookies:get "session", "there is a session")
  end },
  task { "take it along", function(user)
    local session = user.cookies:get "session"
    user.cookies:clear()
    user:get("/account", { name = "as a stranger", expect = { redirect = "/login" } })
    user.cookies:set("session", session)
    user:get("/account", { name = "as before", expect = { text = "user7" } })
  end },
}

-- lgoose examples/cookies.lua
