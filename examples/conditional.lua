-- Shows a flow that depends on what comes back: who is not logged in logs in first, and one in four leaves early.

plan { host = "demo:api", users = 3, run_time = "10s" }

task { "visit my account", wait = 1, function(user)
  local page = user:get("/account", { name = "account" })
  local form = page:form "#login" -- nil unless the site asked for a login
  if form then
    page = user:submit(form, { username = "user7", password = "12345" }, { name = "login" })
    if page:contains "Wrong username" then return page:fail "not logged in" end
  end
  if page:text "#name" ~= "user7" then return page:fail "somebody else's account" end
  if random.float() < 0.25 then return end
  user:submit(page:form "#logout", nil, { name = "logout" })
end }

-- lgoose examples/conditional.lua
