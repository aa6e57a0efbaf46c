-- What a request carries: methods, bodies, options. The site echoes it.

local function same(got, wanted, what)
  assert(got == wanted, what .. ": " .. tostring(got) .. ", not " .. tostring(wanted))
end

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
end }

task { "bodies", function(user)
  local echo = user:post("/echo", nil, { form = { name = "a b&c", list = { 1, 2 }, ["ü"] = "ß" } }):json()
  same(echo.body, "list=1&list=2&name=a+b%26c&%C3%BC=%C3%9F", "form")
  same(echo.headers["content-type"], "application/x-www-form-urlencoded", "type of a form")
  echo = user:post("/echo", nil, { json = { b = { 1, 2 }, a = json.null, c = true } }):json()
  same(echo.body, '{"a":null,"b":[1,2],"c":true}', "json")
  same(echo.headers["content-type"], "application/json", "type of JSON")
  echo = user:put("/echo", nil, { json = { 1 }, headers = { ["Content-Type"] = "application/x-own" } }):json()
  same(echo.headers["content-type"], "application/x-own", "a type of the plan's own")
  same(user:post("/echo"):json().headers["content-length"], "0", "no body")
  same(user:post("/echo", "\0\1x"):json().body, "\0\1x", "bytes")
end }

task { "headers and queries", function(user)
  local echo = user:get("/echo?a=1#top", { query = { b = "x y", c = { 1, 2 } }, headers = { ["X-Own"] = "yes" } }):json()
  same(echo.path, "/echo?a=1&b=x+y&c=1&c=2", "query")
  same(echo.headers["x-own"], "yes", "header")
  assert(echo.headers["user-agent"]:find("^lgoose/"), "user agent: " .. echo.headers["user-agent"])
  same(echo.headers.host, user.host:gsub("^http://", ""), "host")
  same(user:get("/echo", { query = {} }):json().path, "/echo", "an empty query")
  same(user:get("/echo", { headers = { ["User-Agent"] = "own" } }):json().headers["user-agent"], "own", "user agent")
end }

task { "paths", function(user)
  same(user:get(user.host .. "/echo?absolute"):json().path, "/echo?absolute", "an absolute URL")
  same(user:get("/echo#fragment"):json().path, "/echo", "a fragment is not sent")
  same(user:get("/echo?q=ü x"):json().path, "/echo?q=%C3%BC%20x", "characters are encoded")
end }

task { "expectations", function(user)
  same(user:get("/status/404", { expect = { status = 404 } }).ok, true, "an expected 404")
  same(user:get("/status/404", { expect = { status = { 200, 404 } } }).ok, true, "one of several")
  same(user:get("/status/404", { allow_failure = true }).ok, true, "an allowed failure")
  same(user:get("/form", { expect = { title = "A form", text = { "Sign", "goose" } } }).ok, true, "title and texts")
end }

task { "cookies", function(user)
  same(user:get("/cookie/show").body, "", "none at first")
  user:get "/cookie"
  same(user:get("/echo"):json().headers.cookie, "flavour=oat", "for the whole site")
  local both = user:get("/cookie/show").body
  assert(both:find("flavour=oat", 1, true) and both:find("deep=yes", 1, true), "below its path: " .. both)
end }

task { "forms", function(user)
  local page = user:get "/form"
  local form = page:form "#order"
  same(form.method, "POST", "method")
  same(form.action, user.host .. "/echo", "action")
  same(form.fields.token, "a&b", "hidden field")
  same(form.fields.spam, nil, "a box that is not ticked")
  local echo = user:submit(form, { who = "me" }):json()
  same(echo.method, "POST", "sent by its method")
  same(echo.body, "gift=yes&note=as+ever&op=Order&size=m&token=a%26b&who=me", "its fields and the plan's over them")
  same(user:submit(form, { token = "c" }, { headers = { Via = "plan" } }):json().headers.via, "plan", "options")
  same(form.fields.who, "nobody", "the form itself is as it was")
  same(user:submit(page:form "#search"):json().path, "/echo?q=goose", "a form by GET")
  same(page:form "#none", nil, "no such form")
  same(page:form().fields.q, "goose", "the first form of the page")
  local ok, problem = pcall(user.submit, user, page:form "#none")
  assert(not ok and tostring(problem):find("not found", 1, true), "a form that is not there: " .. tostring(problem))
end }

task { "assets", function(user)
  local page = user:get "/form"
  local assets = page:assets()
  table.sort(assets)
  local host = user.host
  local all = host .. "/images/goose.png " .. host .. "/misc/code.js " .. host .. "/misc/style.css?v=1"
  same(table.concat(assets, " "), all, "assets of the same host, each once")
  same(#page:assets { "/misc" }, 2, "assets with a filter")
  local delayed = {}
  for i = 1, 20 do
    delayed[i] = "/delay/10?" .. i
  end
  same(#user:fetch(delayed), 20, "more than go side by side")
  same(#user:fetch { "/a", "/b", "/a" }, 2, "each URL once")
  same(#user:fetch {}, 0, "nothing to fetch")
end }
