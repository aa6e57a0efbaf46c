-- A Drupal 7 site under readers and members: most read, one in five logs in and comments.
-- The well-known Drupal memcache load test. Needs articles at /node/1…10000 that are open for comments and
-- users user2…user5001 with the password 12345; 'demo:drupal' has them.

plan { host = "demo:drupal" }

local PASSWORD = "12345"
local SUBJECT = "this is a test comment subject"
local COMMENT = "this is a test comment body"

-- Where Drupal 7 keeps its scripts and images; those of other hosts are never requested.
local ASSETS = { "/misc", "/themes" }

local function front_page(user)
  local page = user:get("/", { expect = { status = 200, title = "Welcome" } })
  user:fetch(page:assets(ASSETS), { name = "static asset" })
end

local function node_page(user)
  user:get("/node/" .. random.int(1, 9999))
end

local function user_page(user)
  user:get("/user/" .. random.int(2, 5000))
end

-- Drupal answers 200 to a wrong password and shows the form again; only a redirect is a login.
local function log_in(user)
  local page = user:get "/user"
  local form = page:form "#user-login"
  if not form then return page:fail "no login form on /user" end
  local answer = user:submit(form, { name = "user" .. random.int(3, 5001), pass = PASSWORD })
  if answer.ok and answer.redirects == 0 then
    answer:fail("not logged in: " .. (answer:text ".messages.error" or "the form came back"))
  end
end

-- A comment with a stale token is answered 200 as well, one without a session with a redirect: only the
-- message says that it was posted.
local function post_comment(user)
  local page = user:get("/node/" .. random.int(1, 9999))
  local form = page:form "#comment-form"
  if not form then return page:fail "no comment form: not logged in, or comments are closed" end
  user:submit(form, {
    subject = SUBJECT,
    ["comment_body[und][0][value]"] = COMMENT,
    ["comment_body[und][0][format]"] = "filtered_html",
    op = "Save",
  }, { expect = { text = { "Your comment has been posted", COMMENT } } })
end

scenario { "AnonBrowsingUser", weight = 4,
  task { "(Anon) front page", weight = 15, front_page },
  task { "(Anon) node page", weight = 10, node_page },
  task { "(Anon) user page", weight = 3, user_page },
}

scenario { "AuthBrowsingUser", weight = 1,
  task { "(Auth) login", on_start = true, log_in },
  task { "(Auth) front page", weight = 15, front_page },
  task { "(Auth) node page", weight = 10, node_page },
  task { "(Auth) user page", weight = 3, user_page },
  task { "(Auth) comment form", weight = 3, post_comment },
}
