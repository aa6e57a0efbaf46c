-- A food magazine in English and Spanish under readers of both languages and an editor: the well-known Umami
-- load test. Runs against any site with Drupal's Umami demo profile; 'demo:umami' is built in.
-- The pages that are read are listed in umami/*.csv, each with its path and title in both languages.
--
--   lgoose plans/umami.lua -u 50 -t 1m
--   lgoose plans/umami.lua -u 50 -t 1m -H https://umami.your-site.example -e ADMIN_NAME=me -e ADMIN_PASSWORD=secret

local drupal = require "lgoose.drupal"

plan { host = "demo:umami" }

-- Who edits articles; these are the demo's.
local ADMIN = env("ADMIN_NAME", "admin")
local PASSWORD = env("ADMIN_PASSWORD", "admin")

-- Each `next` draws one at random.
local articles = data.csv("umami/articles.csv", { order = "random" })
local pages = data.csv("umami/pages.csv", { order = "random" })
local recipes = data.csv("umami/recipes.csv", { order = "random" })
local terms = data.csv("umami/terms.csv", { order = "random" })

-- What differs between the languages: columns of those files, where things are, what titles begin with.
local english = {
  path = "en_path", title = "en_title", prefix = "/en",
  front = "/", home = "Home", articles = "Articles", recipes = "Recipes",
  search = "Search", contact = "Website feedback",
}
local spanish = {
  path = "es_path", title = "es_title", prefix = "/es",
  front = "/es", home = "Inicio", articles = "Artículos", recipes = "Recetas",
  search = "Buscar", contact = "Comentarios sobre el sitio web",
}

-- Pages with their assets: scripts, images and stylesheets of this site. `page:assets` would also load every
-- size in a `srcset`, of which a browser takes one.
local SOURCE = regex [[src="(/(?:sites|core)[^"]*)"]]
local STYLE = regex [[href="(/sites/default/files/css/[^"]*)"]]

local function load_assets(user, page)
  local urls = page:matches(SOURCE)
  for _, url in ipairs(page:matches(STYLE)) do
    urls[#urls + 1] = url
  end
  user:fetch(urls, { name = "static asset" })
end

local function load(user, path, title)
  local page = user:get(path, { name = user.task, expect = { title = title } })
  load_assets(user, page)
  return page
end

-- Submits a form that leads on to a page with this title; an error message on the page is a failure.
local function submit(user, form, fields, title, text)
  local expect = { redirect = true, title = title, text = text }
  local answer = drupal.submit(user, form, fields, { name = user.task, expect = expect })
  load_assets(user, answer)
  return answer
end

-- What readers do, as functions for a language.
local function front(lang)
  return function(user) load(user, lang.front, lang.home) end
end

local function list(lang, name)
  return function(user) load(user, lang.prefix .. "/" .. name .. "/", lang[name]) end
end

local function one_of(lang, rows)
  return function(user)
    local row = rows:next()
    load(user, row[lang.path], row[lang.title])
  end
end

local function by_number(lang)
  return function(user)
    local row = random.choice({ articles, pages, recipes }):next()
    load(user, "/node/" .. row.nid, row[lang.title])
  end
end

-- Three words from titles; letters only, so that they stand on the page of results as they are.
local function search_words(lang)
  local words = {}
  for n = 1, 3 do
    local kind = random.weighted { article = 3, page = 1, recipe = 3 }
    local row = ({ article = articles, page = pages, recipe = recipes })[kind]:next()
    local title = {}
    for word in row[lang.title]:gmatch "[%a\128-\255]+" do
      title[#title + 1] = word
    end
    words[n] = random.choice(title)
  end
  return table.concat(words, " ")
end

local function search(lang)
  return function(user)
    local form = drupal.form(load(user, lang.prefix .. "/search/node", lang.search), "#search-form")
    if not form then return end
    local keys = search_words(lang)
    submit(user, form, { keys = keys }, lang.search, keys)
  end
end

-- Drupal takes five messages an hour from an address. One more comes back with a message that is no failure.
local function is_over_limit(page)
  return page:contains "You cannot send more than" or page:contains "No le está permitido enviar más"
end

local function contact(lang)
  return function(user)
    local page = load(user, lang.prefix .. "/contact", lang.contact)
    local form = drupal.form(page, "#contact-message-feedback-form")
    if not form then return end
    local answer = user:submit(form, {
      name = random.words(2),
      mail = random.words(1) .. "@example.com",
      ["subject[0][value]"] = random.words(8),
      ["message[0][value]"] = random.words(12),
    })
    local is_sent = answer.redirects > 0 and (answer:title() or ""):find(lang.home, 1, true) == 1
    if answer.ok and not is_sent and not is_over_limit(answer) then
      answer:fail("not sent: " .. (drupal.error_message(answer) or "the form came back"))
    end
    load_assets(user, answer)
  end
end

-- What the editor does. Whoever cannot log in is none: an error here ends the user.
local function log_in(user)
  local form = drupal.form(load(user, "/en/user/login", "Log in"), "#user-login-form")
  local answer = form and submit(user, form, { name = ADMIN, pass = PASSWORD }, ADMIN)
  if not (answer and answer.ok) then
    error("the editor is gone: " .. (answer and answer.error or "there is no login form"))
  end
end

local function edit_article(user)
  local article = articles:next()
  load(user, article.en_path, article.en_title)
  local page = load(user, "/en/node/" .. article.nid .. "/edit", "Edit Article")
  local form = drupal.form(page, "#node-article-edit-form")
  if not form then return end
  -- Drupal keeps what is not sent, so the article stays as it is.
  form.fields = drupal.tokens(form)
  submit(user, form, { op = "Save (this translation)" }, article.en_title)
end

scenario { "Anonymous English user", weight = 40, wait = { 0, 3 },
  task { "anon /", weight = 2, front(english) },
  task { "anon /en/basicpage", one_of(english, pages) },
  task { "anon /en/articles/", list(english, "articles") },
  task { "anon /en/articles/%", weight = 2, one_of(english, articles) },
  task { "anon /en/recipes/", list(english, "recipes") },
  task { "anon /en/recipes/%", weight = 4, one_of(english, recipes) },
  task { "anon /node/%nid", by_number(english) },
  task { "anon /en term", weight = 2, one_of(english, terms) },
  task { "anon /en/search", search(english) },
  task { "anon /en/contact", contact(english) },
}

scenario { "Anonymous Spanish user", weight = 9, wait = { 0, 3 },
  task { "anon /es/", weight = 2, front(spanish) },
  task { "anon /es/basicpage", one_of(spanish, pages) },
  task { "anon /es/articles/", list(spanish, "articles") },
  task { "anon /es/articles/%", weight = 2, one_of(spanish, articles) },
  task { "anon /es/recipes/", list(spanish, "recipes") },
  task { "anon /es/recipes/%", weight = 4, one_of(spanish, recipes) },
  task { "anon /es term", weight = 2, one_of(spanish, terms) },
  task { "anon /es/search", search(spanish) },
  task { "anon /es/contact", contact(spanish) },
}

scenario { "Admin user", weight = 1, wait = { 3, 10 },
  task { "auth /en/user/login", on_start = true, log_in },
  task { "auth /", weight = 2, front(english) },
  task { "auth /en/articles/", list(english, "articles") },
  task { "auth /en/node/%/edit", weight = 2, edit_article },
}
