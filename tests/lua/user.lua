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

task { "cookies of a path and a domain", function(user)
  local jar = user.cookies
  jar:clear()
  jar:set("deep", "1", { path = "/echo/deep" })
  jar:set("plain", "2")
  jar:set("plain", "3", { path = "/echo" })
  jar:set("far", "4", { domain = ".Shop.test", secure = true })
  same(user:get("/echo"):json().headers.cookie, "plain=3; plain=2", "the longest path first")
  same(user:get("/echo/deep"):json().headers.cookie, "deep=1; plain=3; plain=2", "below its path")
  local found = {}
  for _, cookie in ipairs(jar:list()) do
    found[#found + 1] = cookie.domain .. cookie.path .. " " .. cookie.name .. "=" .. cookie.value
      .. (cookie.host_only and "" or " +subdomains") .. (cookie.secure and " secure" or "") .. tostring(cookie.expires)
  end
  same(table.concat(found, ", "), "127.0.0.1/ plain=2nil, 127.0.0.1/echo plain=3nil, 127.0.0.1/echo/deep deep=1nil, "
    .. "shop.test/ far=4 +subdomains securenil", "list")
  same(jar:delete("plain", { path = "/echo" }), 1, "one of two")
  same(jar:get "plain", "2", "the other is there")
  same(jar:delete "plain", 1, "all of a name")
  same(jar:delete "plain", 0, "none left")
  same(jar:delete("far", { domain = "shop.test" }), 1, "of a domain")
  same(#jar:list(), 1, "left")
  raises("did you mean 'path'?", jar.set, jar, "a", "b", { pth = "/" })
  raises("'path' of a cookie", jar.set, jar, "a", "b", { path = 5 })
  raises("its path begins with '/'", jar.set, jar, "a", "b", { path = "x" })
  raises("and has at most 1024", jar.set, jar, "a", "b", { path = "/" .. ("p"):rep(1 << 20) })
  raises("its domain is a host's", jar.set, jar, "a", "b", { domain = "a b" })
  raises("where a cookie belongs must be", jar.delete, jar, "a", "/")
  jar:clear()
end }

task { "cookies of one request", function(user)
  user.cookies:clear()
  user.cookies:set("kept", "1")
  user.cookies:set("both", "jar")
  local own = { both = "own", alone = 2 }
  same(user:get("/echo", { cookies = own }):json().headers.cookie, "kept=1; alone=2; both=own", "over the jar")
  same(user:get("/echo"):json().headers.cookie, "kept=1; both=jar", "not kept")
  user.cookies:clear()
  same(user:get("/echo", { cookies = { a = "b" } }):json().headers.cookie, "a=b", "without a jar")
  same(user:get("/echo", { cookies = {} }):json().headers.cookie, nil, "none")
  raises("option 'cookies' must be", user.get, user, "/echo", { cookies = "a=b" })
  raises("cannot be a cookie", user.get, user, "/echo", { cookies = { a = "b; c=d" } })
end }

task { "cookies of a response", function(user)
  user.cookies:clear()
  local set = user:get("/cookie").cookies
  same(set.flavour, "oat", "one that it has set")
  same(set.deep, "yes", "below its path")
  same(next(user:get("/echo").cookies), nil, "an answer that sets none")
  same(user:get("/cookie-redirect").cookies.hop, "1", "set on the way")
  user.cookies:clear()
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
