-- Visitors and members of a Drupal site: most read, one in five logs in and comments.

plan { host = "demo:drupal" }

local function front_page(user)
  local page = user:get("/", { expect = { status = 200, title = "Welcome" } })
  user:fetch(page:assets { "/misc", "/themes" }, { name = "static asset" })
end

local function node_page(user)
  user:get("/node/" .. random.int(1, 9999))
end

local function log_in(user)
  local form = user:get("/user"):form "#user-login"
  user:submit(form, { name = "user" .. random.int(3, 5001), pass = "12345" })
end

scenario { "visitor", weight = 4,
  task { "(Anon) front page", weight = 15, front_page },
  task { "(Anon) node page",  weight = 10, node_page },
}

scenario { "member", weight = 1, wait = wait.between(0.001, 0.003),
  task { "(Auth) login", on_start = true, log_in },
  task { "(Auth) front page", weight = 15, front_page },
}
