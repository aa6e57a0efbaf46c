-- A Drupal 7 site under readers and members: most read, one in five logs in and comments.
-- The well-known Drupal memcache load test. Needs articles at /node/1…10000 that are open for comments and
-- users user2…user5001 with the password 12345; 'demo:drupal' has them.

local drupal = require "lgoose.drupal"

plan { host = "demo:drupal" }

local PASSWORD = "12345"
local SUBJECT = "this is a test comment subject"
local COMMENT = "this is a test comment body"

-- Where Drupal 7 keeps its scripts and images; those of other hosts are never requested.
local ASSETS = { "/misc", "/themes" }

local function front_page(user)
  drupal.load_page(user, "/", { status = 200, title = "Welcome", assets = ASSETS })
end

local function node_page(user)
  user:get("/node/" .. random.int(1, 9999))
end

local function user_page(user)
  user:get("/user/" .. random.int(2, 5000))
end

local function log_in(user)
  drupal.log_in(user, "user" .. random.int(3, 5001), PASSWORD)
end

-- A comment without a session is answered with a redirect: only the message says that it was posted.
local function post_comment(user)
  local form = drupal.form(user:get("/node/" .. random.int(1, 9999)), "#comment-form")
  if not form then return end
  drupal.submit(user, form, {
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
