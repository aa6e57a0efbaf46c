-- A verdict changes what a response shows, also where the plan has looked before.

local function same(got, wanted, what)
  assert(got == wanted, what .. ": " .. tostring(got) .. ", not " .. tostring(wanted))
end

task { "verdict after a look", function(user)
  local page = user:get("/form", { name = "looked at" })
  assert(page.ok and page.error == nil)
  page:fail "looked at first"
  same(page.ok, false, "ok after fail, looked at before")
  same(page.error, "looked at first", "error after fail, looked at before")
end }
