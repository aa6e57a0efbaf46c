-- What a user changes of its own browser, requests side by side, and the start and end of a test.

local function same(got, wanted, what)
  assert(got == wanted, what .. ": " .. tostring(got) .. ", not " .. tostring(wanted))
end

on("test_start", function(user)
  same(user:get("/echo"):json().method, "GET", "a request at the start")
  return { greeting = "hello", list = { 1, 2, 3 } }
end)

on("test_stop", function(user)
  same(shared.greeting, "hello", "shared at the end")
  user:get "/stopped"
end)

task { "shared", function()
  same(shared.greeting, "hello", "text")
  same(#shared.list, 3, "list")
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

task { "cookies", function(user)
  same(user.cookies:get("own"), nil, "none yet")
  user.cookies:set("own", "1")
  same(user.cookies:get("own"), "1", "set")
  same(user:get("/echo"):json().headers.cookie, "own=1", "sent")
  user.cookies:clear()
  same(user:get("/echo"):json().headers.cookie, nil, "cleared")
  assert(not pcall(user.cookies.set, user.cookies, "a", "b\r\nc: d"), "a line break is no cookie")
end }

task { "side by side", function(user)
  local answers = user:batch {
    { path = "/echo?n=1" },
    { method = "POST", path = "/echo", body = "b", headers = { ["X-Own"] = "2" }, name = "second" },
    { method = "PUT", path = "/echo", json = { n = 3 } },
  }
  same(#answers, 3, "answers")
  same(answers[1]:json().path, "/echo?n=1", "first")
  same(answers[2]:json().headers["x-own"], "2", "second")
  same(answers[3]:json().body, '{"n":3}', "third")
  for n, answer in ipairs(answers) do
    assert(answer.ok, "answer " .. n)
  end
end }

task { "bodies", function(user)
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
  local squeezed = user:post("/echo", ("a"):rep(1000), { compress = "gzip" })
  same(squeezed:json().headers["content-encoding"], "gzip", "compressed")
  assert(tonumber(squeezed:json().headers["content-length"]) < 100, "smaller")
  local dropped = user:get("/echo", { discard = true })
  same(dropped.body, "", "discarded")
  assert(dropped.size > 50, "but counted: " .. dropped.size)
end }

task { "expectations", function(user)
  local function misses(path, expect, message)
    local answer = user:get(path, { expect = expect })
    same(answer.error, message, "error")
    answer:pass()
  end
  assert(user:get("/echo", { expect = { no_text = "nowhere", under = 10, redirect = false } }).ok, "all held")
  misses("/echo", { no_text = "GET" }, "unexpected text 'GET'")
  misses("/echo", { under = 0 }, "took longer than 0 s")
  misses("/echo", { redirect = true }, "expected a redirect, got none")
  misses("/echo", { header = { ["x-cache"] = "HIT" } }, "expected header 'x-cache' is missing")
  misses("/echo", { json = { method = "POST" } }, [[expected JSON field 'method' to be "POST", got "GET"]])
  misses("/echo", { json = { ["headers.nothing"] = 1 } }, "expected JSON field 'headers.nothing' is missing")
  assert(user:get("/echo", { expect = { json = { method = "GET", path = "/echo" } } }).ok, "JSON held")
  misses("/redirect/1", { redirect = false }, "unexpected redirect")
  local hop = user:get("/redirect/1")
  assert(user:get("/redirect/1", { expect = { redirect = hop.url } }).ok, "where it led")
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
