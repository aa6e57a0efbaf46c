-- Forms found on a page and submitted.

local test = require "test"
local same = test.same

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
