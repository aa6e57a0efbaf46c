-- The admin of Django as an editor uses it: log in, add two products with a manual each, find one, delete it.
-- The site is site.py beside this file; tests/it/django.rs compares what both have counted.
--
--   lgoose tests/django/admin.lua -H https://localhost:PORT --ca FILE -e DJANGO_PASSWORD=… -u 5 -i 3

local NAME, PASSWORD = env("DJANGO_USER", "editor"), env("DJANGO_PASSWORD", "")
local PRODUCTS = "/admin/shop/product/"

-- A page as a browser loads it.
local function load_page(user, url, options)
  local page = user:get(url, options)
  user:fetch(page:assets(), { name = "asset" })
  return page
end

local function log_in(user)
  local page = load_page(user, "/admin/", { name = "login form", expect = { title = "Log in" } })
  local answer = user:submit(page:form "#login-form", { username = NAME, password = PASSWORD }, {
    name = "login", expect = { redirect = "/admin/", title = "Site administration" },
  })
  answer:ensure()
end

-- Adds a product by one of the form's buttons, which lead to different pages.
local function add(user, page, fields, button, leads_to)
  local answer = user:submit(page:form "#product_form", fields, {
    name = "add", button = button, expect = { redirect = leads_to, text = "was added successfully" },
  })
  return answer:ensure()
end

scenario { "editor", wait = 1, order = "serial",
  task { "log in", on_start = true, log_in },
  task { "add two", function(user)
    local name = "kettle " .. random.uuid()
    user.data.name = name
    local page = load_page(user, PRODUCTS .. "add/", { name = "add form" })
    local manual = { filename = "manual.txt", type = "text/plain", data = "boils " .. name }
    local first = { name = name, manual = file "manual.txt" }
    page = add(user, page, first, "Save and add another", PRODUCTS .. "add/")
    add(user, page, { name = name .. " II", manual = manual, for_sale = {} }, "Save", PRODUCTS)
  end },
  task { "delete one", function(user)
    local name = user.data.name
    local list = user:get(PRODUCTS, { name = "list", query = { q = name } })
    local found = list:css "#result_list th.field-name a"
    if #found ~= 2 then return list:fail(#found .. " products instead of two") end
    -- The newest comes first.
    local product = load_page(user, found[2]:attr "href", { name = "change form", expect = { text = name } })
    local link = product:attr(".deletelink", "href")
    local question = user:get(link, { name = "delete form", expect = { text = "Are you sure" } })
    user:submit(question:form "#content form", nil, {
      name = "delete", expect = { redirect = PRODUCTS, text = "was deleted successfully" },
    })
  end },
  task { "log out", on_stop = true, function(user)
    local page = user:get("/admin/", { name = "admin" })
    user:submit(page:form "#logout-form", nil, { name = "logout", expect = { title = "Logged out" } })
  end },
}
