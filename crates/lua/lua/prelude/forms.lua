-- Requests that a table describes: user:request and user:submit. A part of the prelude.

local host, H, fail, User, receive = ...

local type = type
local yield = yield
local REQUEST, SUBMIT = host("op:request"), host("op:submit")

function User.request(_, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  if type(options) ~= "table" then
    fail("user:request takes a table: { method = \"GET\", path = \"/\", ... }" .. H.nil_argument(options))
  end
  return receive(yield(REQUEST, options))
end

-- A form found on a page, with the plan's fields over the page's own.
function User.submit(_, form, fields, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  if type(form) ~= "table" or type(form.fields) ~= "table" then
    local missed = form == nil and H.missed_form() or ""
    fail("user:submit takes a form found with response:form(css)" .. (form == nil and "; this one was not found" or "")
      .. (missed ~= "" and ": " .. missed or ""))
  end
  if fields ~= nil or form.required then H.check_fields(form, fields, options) end
  return receive(yield(SUBMIT, form, fields, options))
end
