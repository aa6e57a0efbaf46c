-- What a response shows of an answer.

local test = require "test"
local same = test.same

task { "answers", function(user)
  local page = user:get "/headers"
  same(page.status, 200, "status")
  same(page.ok, true, "ok")
  same(page.error, nil, "error")
  same(page.body, "headers", "body")
  same(page.redirects, 0, "redirects")
  same(page.url, user.host .. "/headers", "url")
  same(page.headers["x-cache"], "HIT", "header in lower case")
  same(page.headers["X-Cache"], "HIT", "header as sent")
  same(page.headers["X-CACHE"], "HIT", "header in upper case")
  same(page.headers["X-Part"], "one, two", "repeated header")
  same(page.headers["X-None"], nil, "no such header")
  assert(page.size > #page.body, "size counts the headers too: " .. page.size)
  assert(page.time > 0 and page.timings.total == page.time, "time")
  assert(page.timings.connect >= 0 and page.timings.first_byte >= 0 and page.timings.dns >= 0, "timings")
  same(page:ensure(), page, "ensure gives the response")
end }

task { "redirects", function(user)
  local page = user:get "/redirect/3"
  same(page.status, 200, "status")
  same(page.body, "arrived", "body")
  same(page.redirects, 3, "redirects")
  same(page.url, user.host .. "/redirect/0", "url")
  local first = user:get("/redirect/3", { redirects = 0 })
  same(first.status, 302, "status of a redirect that is not followed")
  same(first.headers.location, "/redirect/2", "its location")
  same(first.ok, true, "it is no failure")
  same(first.redirects, 0, "its hops")
end }

task { "redirects of a post", function(user)
  for code, method in pairs { [301] = "GET", [302] = "GET", [303] = "GET", [307] = "POST", [308] = "POST" } do
    local answer = user:post("/redirect-post/" .. code, nil, { form = { a = 1 } }):json()
    same(answer.method, method, "method after " .. code)
    same(answer.body, method == "POST" and "a=1" or "", "body after " .. code)
    same(answer.headers["content-type"] ~= nil, method == "POST", "content type after " .. code)
  end
end }

task { "bodies", function(user)
  same(user:get("/chunked").body, "first second third", "chunked")
  same(#user:get("/size/300000").body, 300000, "a large body")
  same(user:get("/status/204").body, "", "no content")
  same(user:get("/status/304").body, "", "not modified")
  same(user:head("/size/100").body, "", "head")
  same(user:get("/close").body, "closed", "a connection that is closed after the answer")
  same(user:get("/size/10").body, "0123456789", "a new one after it")
end }

task { "titles and texts", function(user)
  local page = user:get "/form"
  same(page:title(), "A form & more", "title")
  same(page:contains "Sign <em>", true, "contains looks at the bytes")
  same(page:contains "absent", false, "contains")
  same(page:text "h1.big", "Sign here", "text")
  same(page:text "h7", nil, "text of nothing")
  same(page:attr("#list li", "data-n"), "1", "attr")
  same(user:get("/status/200"):title(), nil, "no title")
end }

task { "matches", function(user)
  local page = user:get "/form"
  same(page:match 'data-n="(\\d)"', "1", "a capture of a pattern in quotes")
  same(page:match [[data-n="(\d)"]], "1", "first capture")
  local all = page:matches [[data-n="(\d)">(\w+)]]
  same(#all, 2, "all matches")
  same(all[2][2], "two", "second capture of the second match")
  same(page:match "<h1", "<h1", "the whole match without a capture")
end }

task { "links", function(user)
  local page = user:get "/form"
  same(table.concat(page:links(), " "), user.host .. "/next " .. user.host .. "/form?page=2", "links")
  same(#page:links "page=", 1, "links with a filter")
  same(#page:links(function(url) return url:sub(-4) == "next" end), 1, "links with a function")
end }

task { "json", function(user)
  local value = user:get("/json"):json()
  same(value.name, "goose", "a field")
  same(#value.list, 3, "a list")
  same(value.none, json.null, "null")
  local ok, problem = pcall(function() return user:get("/headers"):json() end)
  assert(not ok and tostring(problem):find("JSON", 1, true), "no JSON is told: " .. tostring(problem))
end }
