-- What a user does without a network: Lua, JSON, a check and a transaction with their samples.

task { "work", function(user)
  user:transaction("basket", function()
    local basket = {}
    for n = 1, 20 do basket[n] = { id = n, price = n * 3 % 17 } end
    local read = json.decode(json.encode { items = basket })
    local sum = 0
    for _, item in ipairs(read.items) do sum = sum + item.price end
    check(sum > 0, "the basket has a price")
  end)
end }

-- benches/cores.sh runs it on one thread and on two.
