-- A Drupal 7 site under readers and members: most read, one in five logs in and comments.
-- The well-known Drupal memcache load test. 'demo:drupal' has all that it needs; a site of your own must have
--   * a front page whose title begins with 'Welcome', or with what FRONT_TITLE says,
--   * articles at /node/1…10000 that members may comment on without waiting for approval,
--   * the permission 'View user profiles' for visitors and members, who look at /user/2…5000,
--   * users user2…user5001 with the password 12345, and no limit on logins from one address (flood control).
--
--   lgoose plans/drupal.lua -u 50 -t 1m
--   lgoose plans/drupal.lua -u 50 -t 1m -H https://test.your-site.example -e FRONT_TITLE="My site"

local drupal = require "lgoose.drupal"

plan { host = "demo:drupal" }

local FRONT_TITLE = env("FRONT_TITLE", "Welcome")
local PASSWORD = "12345"
local SUBJECT = "this is a test comment subject"
local COMMENT = "this is a test comment body"

-- Where Drupal 7 keeps its scripts and images, and its css and js where they are aggregated; those of other hosts are
-- never requested.
local ASSETS = { "/misc", "/themes", "/sites/default/files/css", "/sites/default/files/js" }

local function front_page(user)
  drupal.load_page(user, "/", { status = 200, title = FRONT_TITLE, assets = ASSETS })
end

local function node_page(user)
  user:get("/node/" .. random.int(1, 9999))
end

local function user_page(user)
  user:get("/user/" .. random.int(2, 5000))
end

-- Whoever cannot log in is no member: an error here ends the user.
local function log_in(user)
  local logged_in, why = drupal.log_in(user, "user" .. random.int(3, 5001), PASSWORD)
  if not logged_in then error("a member is gone: " .. why) end
end

-- A comment without a session is answered with a redirect: only the message says that it was posted.
local function post_comment(user)
  local form = drupal.form(user:get("/node/" .. random.int(1, 9999)), "#comment-form")
  if not form then return end
  local answer = drupal.submit(user, form, {
    subject = SUBJECT,
    ["comment_body[und][0][value]"] = COMMENT,
    ["comment_body[und][0][format]"] = "filtered_html",
    op = "Save",
  }, { expect = { text = { "Your comment has been posted", COMMENT } } })
  if answer:contains "queued for review" then
    answer:fail "the comment waits for approval: let members post without it (permission 'Skip comment approval')"
  end
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
