-- What a plan expects of an answer: what holds, and what is said of a miss.

local test = require "test"
local same, raises = test.same, test.raises

task { "what holds", function(user)
  same(user:get("/status/404", { expect = { status = 404 } }).ok, true, "an expected 404")
  same(user:get("/status/404", { expect = { status = { 200, 404 } } }).ok, true, "one of several")
  same(user:get("/form", { expect = { title = "A form", text = { "Sign", "goose" } } }).ok, true, "title and texts")
  same(user:get("/form", { expect = { title = regex "^A \\w+ & more$" } }).ok, true, "a title by its pattern")
  same(user:get("/form", { expect = { text = "Sign" } }).ok, true, "one text")
  same(user:get("/headers", { expect = { header = { ["X-Cache"] = "HIT" } } }).ok, true, "a header and its value")
  same(user:get("/headers", { expect = { header = { ["x-part"] = true } } }).ok, true, "a header of any value")
  same(user:get("/json", { expect = { json = { name = "goose", ["list.2"] = 2 } } }).ok, true, "a field and a place")
  same(user:get("/json", { expect = { json = { ["list[-1]"] = 3, ["$.list[0]"] = 1 } } }).ok, true, "from the end")
end }

task { "what is said of a miss", function(user)
  local function misses(path, expect, message)
    local answer = user:get(path, { expect = expect })
    same(answer.ok, false, "ok")
    same(answer.error, message, "error")
    answer:pass()
  end
  misses("/status/404", { status = 200 }, "expected status 200, got 404")
  misses("/status/404", { status = { 200, 304 } }, "expected status 200 or 304, got 404")
  misses("/form", { title = "Other" }, "expected title 'Other', got 'A form & more'")
  misses("/form", { title = regex "^more" }, "expected a title that matches '^more', got 'A form & more'")
  misses("/json", { title = regex "." }, "expected a title that matches '.', the page has none")
  misses("/json", { title = "Other" }, "expected title 'Other', the page has none")
  misses("/form", { text = { "Sign", "absent" } }, "expected text 'absent' is missing")
  misses("/headers", { header = { ["x-cache"] = "MISS" } }, "expected header 'x-cache: MISS', got 'HIT'")
  misses("/form", { status = 201, title = "Other" }, "expected status 201, got 200")
  misses("/headers", { json = { a = 1 } }, "expected JSON, got something else")
  misses("/status/404", nil, "status 404 Not Found")
end }

task { "the rarer ones", function(user)
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
  misses("/echo", { json = { ["headers.nothing"] = 1 } }, "JSON field 'headers.nothing' is missing")
  assert(user:get("/echo", { expect = { json = { method = "GET", path = "/echo" } } }).ok, "JSON held")
  misses("/redirect/1", { redirect = false }, "unexpected redirect")
  local hop = user:get("/redirect/1")
  assert(user:get("/redirect/1", { expect = { redirect = hop.url } }).ok, "where it led")
end }

task { "mistakes", function(user)
  raises("did you mean 'status'?", user.get, user, "/echo", { expect = { stauts = 200 } })
  for field, wrong in pairs {
    status = "200", title = 5, text = 5, no_text = { 5 }, header = "x", redirect = 5, under = "soon", json = 5,
  } do
    raises("'expect." .. field .. "'", user.get, user, "/echo", { expect = { [field] = wrong } })
  end
end }
