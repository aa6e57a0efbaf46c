-- What fails is recorded, not raised, and the plan goes on.

local test = require "test"
local same = test.same

task { "no answer", function(user)
  local page = user:get("/close-early", { name = "no answer" })
  same(page.status, 0, "status")
  same(page.ok, false, "ok")
  assert(page.error:find("closed early", 1, true), "error: " .. tostring(page.error))
  same(page.body, "", "body")
  same(page.headers["content-type"], nil, "headers")
  same(page:title(), nil, "title")
  same(page:form(), nil, "form")
  same(#page:assets(), 0, "assets")
  same(#page:links(), 0, "links")
  same(page:contains "x", false, "contains")
end }

task { "missed expectation", function(user)
  local page = user:get("/form", { name = "missed", expect = { title = "Other" } })
  same(page.status, 200, "status")
  same(page.ok, false, "ok")
  assert(page.error:find("expected title 'Other'", 1, true), "error: " .. tostring(page.error))
  local ok, problem = pcall(page.ensure, page)
  assert(not ok and tostring(problem):find("expected title", 1, true), "ensure raises: " .. tostring(problem))
end }

task { "verdicts", function(user)
  local page = user:get("/form", { name = "verdict" })
  page:fail "not what I want"
  same(page.ok, false, "ok after fail")
  same(page.error, "not what I want", "error after fail")
  local missing = user:get("/status/404", { name = "forgiven" })
  missing:pass()
  same(missing.ok, true, "ok after pass")
  same(missing.error, nil, "error after pass")
  local late = pcall(page.fail, page, "too late")
  same(late, false, "a verdict that has been counted stays")
end }

task { "verdict after a look", function(user)
  local page = user:get("/form", { name = "looked at" })
  assert(page.ok and page.error == nil)
  page:fail "looked at first"
  same(page.ok, false, "ok after fail, looked at before")
  same(page.error, "looked at first", "error after fail, looked at before")
end }
