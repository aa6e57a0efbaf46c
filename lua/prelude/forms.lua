-- Requests that a table describes: user:request and user:submit. A part of the prelude.

local host, H, fail, User, receive = ...

local next, type = next, type
local yield = coroutine.yield
local REQUEST = host("op:request")

function User.request(_, options)
  if type(options) ~= "table" then fail("user:request takes a table: { method = \"GET\", path = \"/\", ... }") end
  return receive(yield(REQUEST, options))
end

-- A form found on a page, with the plan's fields over the page's own.
function User.submit(_, form, fields, options)
  if type(form) ~= "table" or type(form.fields) ~= "table" then
    local missed = form == nil and H.missed_form() or ""
    fail("user:submit takes a form found with response:form(css)" .. (form == nil and "; this one was not found" or "")
      .. (missed ~= "" and ": " .. missed or ""))
  end
  local merged = {}
  for name, value in next, form.fields do
    merged[name] = value
  end
  for name, value in next, fields or {} do
    merged[name] = value
  end
  local all = {}
  for key, value in next, options or {} do
    all[key] = value
  end
  all[form.method == "GET" and "query" or "form"] = merged
  all.method, all.path = form.method, form.action
  return receive(yield(REQUEST, all))
end
