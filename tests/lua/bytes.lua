-- Strings of Lua are bytes. Where people read them, those that are not UTF-8 are shown as \xNN; where they are sent,
-- they stay what they are.

local test = require "test"
local same = test.same

local half = ("é"):sub(1, 1) -- the byte C3 alone
local bad = "caf" .. half

task { "verdict", function(user)
  local page = user:get("/form", { name = "verdict" })
  page:fail(bad)
  same(page.ok, false, "ok")
  same(page.error, "caf\\xc3", "error")
  local number = user:get("/form", { name = "number" })
  number:fail(7)
  same(number.error, "7", "a number is a reason, too")
end }

task { "task " .. bad, function(user)
  user:get("/form", { name = "request " .. bad })
  check(true, "check " .. bad)
  metric.counter("metric " .. bad):add()
  user:transaction("transaction " .. bad, function() end)
  local ok, problem = pcall(user.transaction, user, "failed " .. bad, function() error(bad, 0) end)
  same(ok, false, "the error goes on")
  same(problem, bad, "as it was raised")
  log.info(bad, 1)
  print(bad)
  user:log(bad)
end }

task { "expectations", function(user)
  local text = user:get("/form", { name = "text", expect = { text = bad } })
  same(text.error, "expected text 'caf\\xc3' is missing", "text")
  local title = user:get("/form", { name = "title", expect = { title = bad } })
  assert(title.error:find("expected title 'caf\\xc3'", 1, true), title.error)
  local header = user:get("/form", { name = "header", expect = { header = { ["content-type"] = bad } } })
  assert(header.error:find("caf\\xc3", 1, true), header.error)
end }

task { "JSON is text", function()
  local ok, problem = pcall(json.encode, { bad })
  same(ok, false, "no list of numbers")
  assert(tostring(problem):find("'caf\\xc3' is not UTF-8", 1, true), tostring(problem))
end }

task { "bytes that are sent", function(user)
  local page = user:get("/echo/" .. bad, { name = "path" })
  same(page:json().path, "/echo/caf%C3", "a path")
  same(user:post("/echo", nil, { name = "form", form = { q = bad } }):json().body, "q=caf%C3", "a form")
  same(user:get("/echo", { name = "query", query = { q = bad } }):json().path, "/echo?q=caf%C3", "a query")
  same(pcall(user.cookies.set, user.cookies, "c", bad), false, "a cookie's value is not changed to be sent")
  local auth = user:get("/echo", { name = "auth", auth = { "ann", bad } }):json().headers.authorization
  same(auth, "Basic " .. base64.encode("ann:" .. bad), "credentials")
end }
