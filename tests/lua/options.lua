-- Each option of a request; the site echoes what it gets.

local test = require "test"
local same, raises = test.same, test.raises

task { "forms and JSON", function(user)
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

task { "nested names", function(user)
  local function form(fields) return (user:post("/echo", nil, { form = fields }):json().body:gsub("%%5B", "["):gsub("%%5D", "]")) end
  same(form { a = { b = 1 } }, "a[b]=1", "nested")
  same(form { a = { b = { c = "x", d = { 1, 2 } } }, z = {} }, "a[b][c]=x&a[b][d]=1&a[b][d]=2", "deeper, and a list")
  same(user:get("/echo", { query = { a = { b = 1 } } }):json().path, "/echo?a%5Bb%5D=1", "in a query")
  raises("has the name 'b', too", form, { a = { 1, b = 2 } })
  raises("a list with a hole", form, { a = { 1, nil, 3 } })
  raises("a list has no tables", form, { a = { { b = 1 } } })
  raises("names are strings", form, { "a" })
  same(form { { "b[]", 1 }, { "a", "x y" }, { "b[]", true } }, "b[]=1&a=x+y&b[]=true", "pairs stay in their order")
  same(user:get("/echo", { query = { { "b", 1 }, { "a", 2 } } }):json().path, "/echo?b=1&a=2", "also in a query")
  raises("field 2 must be a pair { \"name\", value }", form, { { "a", 1 }, { "b" } })
  raises("field 2 must be a pair", form, { { "a", 1 }, "b" })
  raises("field 1 is a list with a hole", form, { { "a", nil, 1 } })
  raises("has the name 'c', too", form, { { "a", 1 }, c = 2 })
  raises("argument too many, a string", function() user:get("/echo", {}, nil, "x") end)
  raises("argument too many, a table", function() user:post("/echo", "", {}, {}) end)
  raises("argument too many, a number", function() random.int(1, 2, 3) end)
  raises("argument too many", function() metric.counter "nested":add(1, {}, 2) end)
  raises("argument too many", function() user:fetch({}, {}, 1) end)
end }

task { "parts and compression", function(user)
  local parts = { name = "goose", file = { filename = 'a "b".txt', type = "text/plain", data = "content" } }
  local echo = user:post("/echo", nil, { multipart = parts }):json()
  local boundary = echo.headers["content-type"]:match("^multipart/form%-data; boundary=(.+)$")
  local wanted = table.concat({
    "--" .. boundary,
    'content-disposition: form-data; name="file"; filename="a %22b%22.txt"',
    "content-type: text/plain",
    "",
    "content",
    "--" .. boundary,
    'content-disposition: form-data; name="name"',
    "",
    "goose",
    "--" .. boundary .. "--",
    "",
  }, "\r\n")
  same(echo.body, wanted, "multipart")
  local function names(multipart)
    local found = {}
    for name in user:post("/echo", nil, { multipart = multipart }):json().body:gmatch 'name="([^\r]*)"\r\n' do
      found[#found + 1] = name
    end
    return table.concat(found, " ")
  end
  same(names { z = { "1", 2 }, f = { { filename = "a", data = "b" }, { filename = "b", data = "c" } } },
    'f"; filename="a f"; filename="b z z', "lists of parts by name")
  same(names { { name = "z", data = 1 }, { name = "a", filename = "x", data = "y" }, { name = "z", data = true } },
    'z a"; filename="x z', "parts in the order of a list")
  local function kinds(filename)
    local part = { a = { filename = filename, data = "x" } }
    return user:post("/echo", nil, { multipart = part }):json().body:match "content%-type: ([^\r]+)"
  end
  same(kinds "photo.JPG", "image/jpeg", "the type of a photo")
  same(kinds "a.b.csv", "text/csv", "the type of a table")
  same(kinds "png", "application/octet-stream", "the type of anything else")
  local squeezed = user:post("/echo", ("a"):rep(1000), { compress = "gzip" })
  same(squeezed:json().headers["content-encoding"], "gzip", "compressed")
  assert(tonumber(squeezed:json().headers["content-length"]) < 100, "smaller")
  local dropped = user:get("/echo", { discard = true })
  same(dropped.body, "", "discarded")
  assert(dropped.size > 50, "but counted: " .. dropped.size)
  local kept = { discard = "successful", allow_failure = true }
  same(user:get("/echo", kept).body, "", "a successful one discarded")
  assert(#user:get("/status/404", kept).body > 0, "a failed one kept")
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

task { "names", function(user)
  user:get("/echo?n=1", { name = "named" })
  user:get("/echo?n=2", { name = "named", headers = { A = "b" } })
  user:post("/echo", nil, { name = "named", json = {} })
end }

task { "credentials", function(user)
  local function sent(auth) return user:get("/echo", { auth = auth }):json().headers.authorization end
  same(sent { "ada", "secret" }, "Basic YWRhOnNlY3JldA==", "name and password")
  same(sent "ada:secret", "Basic YWRhOnNlY3JldA==", "as one text")
  same(sent { bearer = "token" }, "Bearer token", "a token")
  same(sent { "ada", "secret", digest = true }, nil, "a digest is sent where it is asked for")
  raises("option 'auth' must be", sent, 5)
  raises("'digest' of option 'auth'", sent, { "ada", "secret", digest = "yes" })
  raises("digest = true }", sent, { "ada", digest = true })
  raises("option 'auth' must be", sent, { "ada" })
end }

task { "time and redirects", function(user)
  raises("from 0 to 100, not 400", user.get, user, "/", { redirects = 400 })
  raises("from 0 to 100, not 1.5", user.get, user, "/", { max_redirects = 1.5 })
  raises("from 0 to 100, not a string", user.get, user, "/", { redirects = "1" })
  local late = user:get("/hold", { timeout = 0.05, name = "late" })
  same(late.status, 0, "status of an answer that did not come in time")
  assert(late.error:find("timeout", 1, true) or late.error:find("in time", 1, true), "error: " .. late.error)
  late:pass()
  same(user:get("/redirect/2", { redirects = 0 }).status, 302, "not followed")
  same(user:get("/redirect/2", { redirects = 2 }).status, 200, "followed")
  local lost = user:get("/redirect/3", { redirects = 2, name = "lost" })
  same(lost.ok, false, "more than allowed")
  lost:pass()
  local last = user:get("/redirect/3", { max_redirects = 2 })
  same(last.status, 302, "the last answer")
  same(last.ok, true, "which is no failure")
  same(last.redirects, 2, "redirects followed")
  same(last.headers.location, "/redirect/0", "where it would go on")
  same(user:get("/redirect/2", { max_redirects = 2 }).status, 200, "no more than that")
  same(user:get("/redirect/2", { max_redirects = 0 }).headers.location, "/redirect/1", "the first")
  same(user:get("/redirect/1", { max_redirects = 1, expect = { redirect = "/redirect/0" } }).ok, true, "where it led")
end }

task { "failures allowed", function(user)
  local missing = user:get("/status/404", { allow_failure = true })
  same(missing.ok, true, "an allowed failure")
  same(missing.status, 404, "its status")
  same(user:get("/status/500", { allow_failure = true, name = "allowed" }).error, nil, "no error")
end }

task { "mistakes", function(user)
  for option, wrong in pairs {
    name = 5, headers = "x", query = 5, form = "a=b", multipart = "x", timeout = "soon", redirects = -1, max_redirects = 101,
    expect = 200, compress = "br", discard = "failed", allow_failure = "yes",
  } do
    raises("'" .. option .. "'", user.post, user, "/echo", nil, { [option] = wrong })
  end
  raises("above 0", user.get, user, "/echo", { timeout = 0 })
  raises("one body", user.post, user, "/echo", "b", { json = {} })
  raises("one body", user.post, user, "/echo", nil, { json = {}, form = { a = 1 } })
  raises("did you mean 'filename'", user.post, user, "/echo", nil, { multipart = { a = { filenam = "x", data = "y" } } })
  raises("part 2 of 'multipart' needs its name", user.post, user, "/echo", nil,
    { multipart = { { name = "a", data = "b" }, { data = "c" } } })
  raises("is either", user.post, user, "/echo", nil, { multipart = { { name = "a", data = "b" }, c = "d" } })
  raises("unknown field 'name'", user.post, user, "/echo", nil, { multipart = { a = { name = "b", data = "c" } } })
  raises("needs its content", user.post, user, "/echo", nil, { multipart = { a = { filename = "x" } } })
  raises("header name", user.get, user, "/echo", { headers = { ["a b"] = "c" } })
  raises("line break", user.get, user, "/echo", { headers = { a = "b\r\nc: d" } })
  raises("options are named", user.get, user, "/echo", { "name" })
end }
