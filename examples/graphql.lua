-- Shows GraphQL: a query with variables. Its errors come with status 200, so look into the answer.

plan { host = "demo:api", users = 3, run_time = "10s" }

local QUERY = [[
  query Product($id: Int!) {
    product(id: $id) { name price maker { name } }
  }
]]

local function ask(user, query, variables, options)
  options = options or {}
  options.json = { query = query, variables = variables }
  local answer = user:post("/graphql", nil, options)
  local errors = answer.ok and answer:json().errors
  if errors then answer:fail(errors[1].message) end
  return answer
end

scenario { "reader", wait = 1,
  task { "product", function(user)
    local answer = ask(user, QUERY, { id = random.int(1, 100) })
    check(answer:json().data.product.price > 0, "a product has a price")
  end },
}

-- lgoose examples/graphql.lua
