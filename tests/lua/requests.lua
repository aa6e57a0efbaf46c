-- What a request carries: methods, bodies, paths, and what is refused.

local test = require "test"
local same, raises = test.same, test.raises

task { "methods", function(user)
  for _, method in ipairs { "get", "delete", "options" } do
    same(user[method](user, "/echo"):json().method, method:upper(), method)
  end
  for _, method in ipairs { "post", "put", "patch" } do
    local echo = user[method](user, "/echo", "a body"):json()
    same(echo.method, method:upper(), method)
    same(echo.body, "a body", method)
  end
  same(user:head("/echo").status, 200, "head")
  local echo = user:request({ method = "PROPFIND", path = "/echo", body = "b", headers = { Depth = 1 } }):json()
  same(echo.method, "PROPFIND", "any method")
  same(echo.body, "b", "its body")
  same(echo.headers.depth, "1", "its options")
  same(user:request({ path = "/echo" }):json().method, "GET", "GET is the default")
end }

task { "paths", function(user)
  same(user:get(user.host .. "/echo?absolute"):json().path, "/echo?absolute", "an absolute URL")
  same(user:get("/echo#fragment"):json().path, "/echo", "a fragment is not sent")
  same(user:get("/echo?q=ü x"):json().path, "/echo?q=%C3%BC%20x", "characters are encoded")
end }

task { "mistakes", function(user)
  raises("the path must be a string", function() user.get "/echo" end)
  raises("the path must be a string", function() user:get(5) end)
  raises("the body must be a string", function() user:post("/echo", { a = 1 }) end)
  raises("options must be a table", function() user:get("/echo", "fast") end)
  raises("did you mean 'name'?", function() user:get("/echo", { nme = "x" }) end)
  raises("unknown option 'method'", function() user:get("/echo", { method = "PUT" }) end)
  raises("unknown option 'wait'", function() user:request { path = "/echo", wait = 1 } end)
  raises("the path must be a string", function() user:request { method = "PUT" } end)
  raises("is not a method", function() user:request { method = "A B", path = "/" } end)
  raises("user:request takes a table", function() user:request "/echo" end)
  same(user:get("/echo").ok, true, "the user goes on")
end }
