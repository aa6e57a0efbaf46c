-- What a user knows and changes of itself: fields, headers, credentials, cookies, host.

local test = require "test"
local same, raises = test.same, test.raises

task { "fields", function(user)
  same(user.id, 1, "id")
  same(user.scenario, "default", "scenario")
  same(user.task, "fields", "task")
  same(user.iteration, 1, "iteration")
  user.data.kept = (user.data.kept or 0) + 1
  same(user.data.kept, 1, "data")
  raises("user.data.kept", function() user.kept = 1 end)
  raises("did you mean 'get'?", function() return user.gett end)
  assert(user.host:find "^http://127", "host: " .. user.host)
  same(getmetatable(user), false, "the metatable of user is hidden")
end }

task { "headers and credentials", function(user)
  user:set_header("X-Own", "every time")
  same(user:get("/echo"):json().headers["x-own"], "every time", "a header of the user's")
  same(user:get("/echo", { headers = { ["X-Own"] = "once" } }):json().headers["x-own"], "once", "a request's own wins")
  user:set_header("X-Own", nil)
  same(user:get("/echo"):json().headers["x-own"], nil, "taken back")
  user:basic_auth("ada", "secret")
  same(user:get("/echo"):json().headers.authorization, "Basic YWRhOnNlY3JldA==", "basic")
  user:bearer("token")
  same(user:get("/echo"):json().headers.authorization, "Bearer token", "bearer")
  local basic = user:get("/echo", { auth = { "ada", "secret" } }):json()
  same(basic.headers.authorization, "Basic YWRhOnNlY3JldA==", "a request's own credentials")
  same(user:get("/echo", { auth = { bearer = "x" } }):json().headers.authorization, "Bearer x", "a request's own token")
end }

task { "own cookies", function(user)
  user.cookies:clear()
  same(user.cookies:get("own"), nil, "none yet")
  user.cookies:set("own", "1")
  same(user.cookies:get("own"), "1", "set")
  same(user:get("/echo"):json().headers.cookie, "own=1", "sent")
  user.cookies:clear()
  same(user:get("/echo"):json().headers.cookie, nil, "cleared")
  assert(not pcall(user.cookies.set, user.cookies, "a", "b\r\nc: d"), "a line break is no cookie")
end }

task { "cookies", function(user)
  user.cookies:clear()
  same(user:get("/cookie/show").body, "", "none at first")
  user:get "/cookie"
  same(user:get("/echo"):json().headers.cookie, "flavour=oat", "for the whole site")
  local both = user:get("/cookie/show").body
  assert(both:find("flavour=oat", 1, true) and both:find("deep=yes", 1, true), "below its path: " .. both)
end }

task { "another host", function(user)
  local home = user.host
  user:set_host("http://127.0.0.1:1")
  local answer = user:get "/"
  same(answer.status, 0, "nobody there")
  answer:pass()
  same(user.host, "http://127.0.0.1:1", "host")
  user:set_host(home)
  same(user:get("/echo").status, 200, "home again")
  assert(not pcall(user.set_host, user, "nonsense"), "not a URL")
end }
