-- What several plans against the shop share. Not a plan: `require "lib.shop"` finds it beside the plan.

local shop = {}

---Logs in and sends the token with every request from then on. Ends the task if that fails.
---@param user lgoose.User
---@param name string
---@param password string
function shop.log_in(user, name, password)
  local answer = user:post("/api/login", nil, { name = "login", json = { username = name, password = password } })
  user:bearer(answer:ensure():json().token)
end

---Orders a product.
---@param user lgoose.User
---@param product integer
---@return integer? id # of the order; nil if it failed
function shop.order(user, product)
  local answer = user:post("/api/orders", nil, { name = "order", json = { product = product, quantity = 1 } })
  return answer.ok and answer:json().id or nil
end

return shop
