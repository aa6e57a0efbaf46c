-- Shows tasks made in a loop: a plan is Lua, so a list of pages becomes a list of tasks.

plan { host = "demo:drupal", users = 3, run_time = "10s" }

local pages = {
  { path = "/", weight = 5 },
  { path = "/user", weight = 1 },
  { path = "/node/1", weight = 2 },
  { path = "/node/2", weight = 2 },
}

local reader = { "reader", wait = 1 }
for i, page in ipairs(pages) do
  reader[i + 1] = task { page.path, weight = page.weight, function(user)
    user:get(page.path)
  end }
end

scenario(reader)

-- lgoose examples/loop.lua
