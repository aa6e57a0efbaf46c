-- A WordPress under readers, who browse, search and sometimes comment, and a few authors who log in to do so.
-- Needs some posts that are open for comments and an account; works with any theme that keeps WordPress's own names for
-- titles and forms. WordPress refuses comments that come within 15 seconds from one address, and those twice the same:
-- the first has to be lifted on the site under test (filter 'wp_is_comment_flood').
--
--   lgoose plans/wordpress.lua -H https://test.your-site.example -e WP_USER=editor -e WP_PASSWORD=secret -u 20 -t 5m

local NAME, PASSWORD = env("WP_USER", "editor"), env("WP_PASSWORD", "")

-- A page as a browser loads it; `expect` is about the page itself.
local function load_page(user, url, options)
  local page = user:get(url, options)
  user:fetch(page:assets(), { name = "asset" })
  return page
end

-- The addresses of the posts that a page lists.
local function posts_on(page)
  local posts = {}
  for i, link in ipairs(page:css ".wp-block-post-title a, .entry-title a") do
    posts[i] = link:attr "href"
  end
  return posts
end

local function front_page(user)
  local page = load_page(user, "/", { name = "front page", expect = { text = "</html>" } })
  user.data.posts = posts_on(page)
  if #user.data.posts == 0 then page:fail "no posts on the front page" end
end

-- A post; reads the front page first if this user has not seen it yet.
local function read_post(user)
  if not user.data.posts then front_page(user) end
  local post = random.choice(user.data.posts)
  return load_page(user, post, { name = "post", expect = { text = "</html>" } })
end

local function search(user)
  local word = random.choice { "kettles", "words", "number", "hello" }
  user:get("/", { name = "search", query = { s = word }, expect = { text = word } })
end

-- The form has its post's number in hidden fields, and for authors a nonce; `submit` sends them as they are.
local function comment(user, fields)
  local page = read_post(user)
  local form = page:form "#commentform"
  if not form then return page:fail "no form for comments: is the post open for them?" end
  user:wait(5, 15)
  -- WordPress leads back to the post, which shows the comment.
  fields.comment = random.words(12) .. " " .. random.string(8)
  local answer = user:submit(form, fields, { name = "comment", expect = { redirect = true, text = fields.comment } })
  local waits = not answer.ok and answer:text ".comment-awaiting-moderation"
  if waits then answer:fail("the comment waits for approval: " .. waits) end
end

local function comment_as_visitor(user)
  comment(user, { author = "A reader", email = "reader" .. user.id .. "@shop.example" })
end

local function comment_as_author(user)
  comment(user, {})
end

-- The form page sets the cookie that WordPress wants to see again before it believes in cookies at all.
local function log_in(user)
  local form = user:get("/wp-login.php", { name = "login form" }):form "#loginform"
  local answer = user:submit(form, { log = NAME, pwd = PASSWORD }, {
    name = "login",
    expect = { redirect = true, text = "wp-admin-bar-logout" },
  })
  -- A wrong password is answered with 200, the form and the reason.
  local problem = answer:text "#login_error"
  if problem then answer:fail("not logged in: " .. problem:gsub("%s+", " ")) end
  answer:ensure()
end

-- The link carries a nonce: without it WordPress asks whether one really means it.
local function log_out(user)
  local link = user:get("/wp-admin/profile.php", { name = "profile" }):attr("#wp-admin-bar-logout a", "href")
  if link then user:get(link, { name = "logout", expect = { text = "loginform" } }) end
end

scenario { "reader", weight = 9, wait = { 2, 8 },
  task { "front page", weight = 4, front_page },
  task { "post", weight = 8, read_post },
  task { "search", weight = 2, search },
  task { "comment", weight = 1, comment_as_visitor },
}

scenario { "author", weight = 1, wait = { 2, 8 },
  task { "log in", on_start = true, log_in },
  task { "front page", weight = 2, front_page },
  task { "comment", weight = 1, comment_as_author },
  task { "log out", on_stop = true, log_out },
}
