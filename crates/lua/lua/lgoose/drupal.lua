---Common steps of plans against Drupal, from version 7 on: logging in, forms and their tokens, search, pages with
---their assets. Drupal responds to most mistakes with status 200, so each of these functions looks for the page's
---error message; a request that did not have its effect is counted as failed, and no error is raised.
---
---    local drupal = require "lgoose.drupal"
---
---@class lgoose.drupal
local drupal = {}

---The folders in which Drupal keeps the scripts, styles and images of its pages.
---@type string[]
drupal.ASSETS = { "/core", "/misc", "/modules", "/sites", "/themes" }

local LOGIN_FORM = "#user-login, #user-login-form"

-- Longer pages contain more than the reason for a refusal.
local SHORT_PAGE = 2000

-- The options of each function that has some of its own.
local OPTIONS = {
  log_in = { path = true, form = true, name = true },
  search = { path = true, form = true, name = true, expect = true },
  load_page = { status = true, title = true, text = true, name = true, assets = true, asset_name = true },
}

-- Returns the options of a function; raises for one that it has not.
local function read_options(name, options)
  if options == nil then return {} end
  local known = OPTIONS[name]
  for option in pairs(options) do
    if not known[option] then
      local names = {}
      for each in pairs(known) do
        names[#names + 1] = each
      end
      table.sort(names)
      error(("drupal.%s has no option '%s'; it has %s"):format(name, option, table.concat(names, ", ")), 3)
    end
  end
  return options
end

---Returns the text of the page's error message, as shown by Drupal 7 or later; or the whole text of a short refusal (403),
---as when flood control blocks logins.
---@param page lgoose.Response
---@return string? message # nil if the page shows none
function drupal.error_message(page)
  if page:contains "messages error" or page:contains "messages--error" then
    local message = page:text ".messages.error, .messages--error" or ""
    -- The heading that only screen readers see.
    local heading = page:text ".messages.error h2, .messages--error h2" or ""
    if message:sub(1, #heading) == heading then message = message:sub(#heading + 1) end
    return (message:gsub("^%s+", ""))
  end
  if page.status == 403 and #page.body < SHORT_PAGE then
    local message = (page:text "body" or page.body):gsub("%s+", " ")
    return message ~= "" and message or nil
  end
end

---Returns a form of a page. If the page does not have it, its request counts as failed.
---@param page lgoose.Response
---@param css string # such as "#comment-form"
---@return lgoose.Form? form # nil if there is none
function drupal.form(page, css)
  local form = page:form(css)
  if not form and page.ok then page:fail("no form '" .. css .. "' on the page") end
  return form
end

---Returns the fields by which Drupal recognises a form. `user:submit` sends them by itself; use them in requests
---that you build by hand.
---@param form lgoose.Form
---@return table<string, any> tokens # form_id, form_build_id and, except for anonymous users, form_token
function drupal.tokens(form)
  local fields = form.fields
  return { form_id = fields.form_id, form_build_id = fields.form_build_id, form_token = fields.form_token }
end

---Submits a form. A response with an error message counts as failed with that message, whatever its status.
---@param user lgoose.User
---@param form lgoose.Form
---@param fields? table<string, string|number|boolean> # these override the form's own
---@param options? lgoose.Options
---@return lgoose.Response response
function drupal.submit(user, form, fields, options)
  local response = user:submit(form, fields, options)
  local message = drupal.error_message(response)
  if message then response:fail("refused: " .. message) end
  return response
end

---@class lgoose.drupal.LoginOptions
---@field path? string # the page with the login form (default: "/user", which later Drupals redirect to "/user/login")
---@field form? string # CSS of the form (default: that of Drupal 7 and that of later ones)
---@field name? string # the row of the report (default: the task's name)

---Logs in with the form of Drupal 7 or later, and checks whether it worked: the response to a wrong password has
---status 200 and the same form again.
---@param user lgoose.User
---@param name string
---@param password string
---@param options? lgoose.drupal.LoginOptions
---@return boolean logged_in
---@return string? reason # why it failed
function drupal.log_in(user, name, password, options)
  options = read_options("log_in", options)
  local row = options.name
  local page = user:get(options.path or "/user", { name = row })
  local failed = page.error
  local form = drupal.form(page, options.form or LOGIN_FORM)
  if not form then return false, failed or "there is no login form" end
  local response = user:submit(form, { name = name, pass = password }, { name = row })
  local message = drupal.error_message(response)
  if response.ok and response.redirects == 0 then
    response:fail("not logged in: " .. (message or "the form came back"))
  elseif response.ok and response:contains 'id="user-login' then
    response:fail "not logged in: the page after the login still has the login form"
  elseif response.status >= 400 and message then
    response:fail("not logged in: " .. response.status .. ", " .. message)
  end
  if response.ok then return true end
  return false, response.error
end

---@class lgoose.drupal.SearchOptions
---@field path? string # the page with the search form (default: "/search/node")
---@field form? string # CSS of the form (default: "#search-form")
---@field name? string # the row of the report (default: the task's name)
---@field expect? lgoose.Expect # expectations about the page of results

---Searches the site: gets the page with the form and submits it.
---@param user lgoose.User
---@param keys string # the words to search for
---@param options? lgoose.drupal.SearchOptions
---@return lgoose.Response? results # nil if there is no form
function drupal.search(user, keys, options)
  options = read_options("search", options)
  local page = user:get(options.path or "/search/node", { name = options.name })
  local form = drupal.form(page, options.form or "#search-form")
  if not form then return nil end
  return drupal.submit(user, form, { keys = keys }, { name = options.name, expect = options.expect })
end

---@class lgoose.drupal.PageOptions
---@field status? integer|integer[] # the status that the page must have (default: any below 400)
---@field title? string # text that the page's title must start with
---@field text? string|string[] # text that the page must contain
---@field name? string # the row of the page in the report (default: the task's name)
---@field assets? string|string[]|fun(url: string): boolean # which assets to load (default: drupal.ASSETS)
---@field asset_name? string # the row of the assets in the report (default: "static asset")

---Gets a page as a browser does: checks it and loads its assets.
---@param user lgoose.User
---@param path string
---@param options? lgoose.drupal.PageOptions
---@return lgoose.Response page
function drupal.load_page(user, path, options)
  options = read_options("load_page", options)
  local page = user:get(path, {
    name = options.name,
    expect = { status = options.status, title = options.title, text = options.text },
  })
  -- Nobody sees these responses: their bodies are not kept.
  user:fetch(page:assets(options.assets or drupal.ASSETS), {
    name = options.asset_name or "static asset",
    discard = "successful",
  })
  return page
end

---Loads the assets of a page; those of other hosts are never requested.
---@param user lgoose.User
---@param page lgoose.Response
---@param filter? string|string[]|fun(url: string): boolean # (default: drupal.ASSETS)
---@param name? string # their row in the report (default: "static asset")
---@return lgoose.Response[] assets
function drupal.load_assets(user, page, filter, name)
  return (user:fetch(page:assets(filter or drupal.ASSETS), { name = name or "static asset" }))
end

-- The most arguments of each function; more raise an error, since Lua would drop them silently.
for name, most in pairs {
  error_message = 1,
  form = 2,
  tokens = 1,
  submit = 4,
  log_in = 4,
  search = 3,
  load_page = 3,
  load_assets = 4,
} do
  local call = drupal[name]
  drupal[name] = function(...)
    if select(most + 1, ...) ~= nil then error("drupal." .. name .. " takes fewer arguments", 2) end
    return call(...)
  end
end

return drupal
