-- Shows what happens once per test: `test_start` runs before the first user, and what it returns is `shared` with
-- all of them; `test_stop` runs after the last.

plan { host = "demo:api", users = 3, run_time = "10s" }

on("test_start", function(user)
  local products = user:get("/api/products"):ensure():json()
  local cheap = {}
  for _, product in ipairs(products) do
    if product.price < 50 then cheap[#cheap + 1] = product.id end
  end
  return { cheap = cheap }
end)

on("test_stop", function(user)
  user:log "all users have stopped"
end)

task { "a cheap product", wait = 1, function(user)
  local id = random.choice(shared.cheap)
  local answer = user:get("/api/products/" .. id)
  check(answer:json().price < 50, "it is cheap")
end }

-- lgoose examples/shared_data.lua
