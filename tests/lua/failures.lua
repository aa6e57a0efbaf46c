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
  page:pass()
  missing:fail "after all"
  page:fail "for good"
  same(page.error, "for good", "a verdict on an earlier request")
  user.data.page = page
end }

task { "verdicts of a task before", on_stop = true, function(user)
  test.raises("this response has been counted: call fail and pass before its task ends", user.data.page.fail,
    user.data.page, "too late")
  same(user.data.page.error, "for good", "a verdict that has been counted stays")
end }

task { "a page with its assets", function(user)
  local page = user:get("/form", { name = "judged late" })
  local assets = user:fetch({ "/echo?1", "/status/404" }, { name = "judged asset" })
  user:wait(0.01)
  user:get("/echo", { name = "between" })
  assets[2]:pass()
  page:fail "judged after its assets"
  user:get("/echo", { name = "between" })
  for _ = 1, 100 do user:get("/echo", { name = "dropped", expect = { status = 201 } }) end
  same(page.ok, false, "ok")
end }

task { "verdict after a look", function(user)
  local page = user:get("/form", { name = "looked at" })
  assert(page.ok and page.error == nil)
  page:fail "looked at first"
  same(page.ok, false, "ok after fail, looked at before")
  same(page.error, "looked at first", "error after fail, looked at before")
end }

task { "tried again", function(user)
  local retried = { name = "retried", expect = { status = 200, text = "number%203" } }
  local answer = user:retry { times = 5, wait = 0.001, function(same_user, attempt)
    same(same_user, user, "the user")
    return user:get("/echo?number " .. attempt, retried)
  end }
  same(answer:json().path, "/echo?number%203", "the third")
  answer = user:retry { times = 2, wait = { 0.001, 0.002 }, function()
    user:get("/echo", { name = "retried" })
    return user:get("/status/404", { name = "in vain" })
  end }
  same(answer.error, "status 404 Not Found", "the last one")
  local raises = test.raises
  raises("takes a table with a function", user.retry, user, function() end)
  raises("takes a table with a function", user.retry, user, { times = 2 })
  raises("'tims' is unknown in user:retry", user.retry, user, { tims = 2, function() end })
  raises("'times' of user:retry", user.retry, user, { times = 0, function() end })
  raises("must return a response", user.retry, user, { function() return 5 end })
end }
