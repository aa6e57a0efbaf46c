-- A first plan: visitors who read the front page and articles, and think for a second or two in between.
--
--   lgoose plan.lua -u 5 -t 10s                                 # against the built-in demo site
--   lgoose plan.lua -u 5 -t 10s -H https://your-site.example    # against yours

plan { host = "demo:drupal" }

---@param user lgoose.User
local function front_page(user)
  local page = user:get("/", { expect = { status = 200, title = "Welcome" } })
  user:fetch(page:assets(), { name = "static asset" })
end

---@param user lgoose.User
local function article(user)
  user:get("/node/" .. random.int(1, 9999))
end

scenario { "visitor", wait = wait.between(1, 2),
  task { "front page", weight = 3, front_page },
  task { "article", weight = 2, article },
}
