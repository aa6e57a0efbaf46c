-- The start and the end of a test, and what the start gives to all users.

local test = require "test"
local same, raises = test.same, test.raises

on("test_start", function(user)
  same(user.task, "test_start", "task")
  same(user:get("/echo"):json().method, "GET", "a request at the start")
  return { greeting = "hello", list = { "a", "b", "c" }, nested = { deep = { n = 1 } } }
end)

on("test_stop", function(user)
  same(shared.greeting, "hello", "shared at the end")
  same(user.task, "test_stop", "task")
  user:get "/stopped"
end)

scenario { "one", users = 1, task { "looks", function(user)
  same(shared.greeting, "hello", "text")
  same(#shared.list, 3, "list")
  same(shared.nested.deep.n, 1, "deep inside")
  same(shared.nothing, nil, "nothing")
  local names = {}
  for name in pairs(shared) do
    names[#names + 1] = name
  end
  table.sort(names)
  same(table.concat(names, " "), "greeting list nested", "names")
  same(json.decode(json.encode(shared)).greeting, "hello", "as JSON")
  same(user:post("/echo", nil, { json = shared.nested }):json().body, '{"deep":{"n":1}}', "sent")
  same(#random.choice(shared.list), 1, "drawn")
  raises("cannot set 'greeting': this value is the same for all users", function() shared.greeting = "bye" end)
  raises("cannot set 'n': this value is the same for all users", function() shared.nested.deep.n = 2 end)
  raises("cannot set '4': this value is the same for all users", function() shared.list[4] = "d" end)
  for _, value in pairs(shared) do
    if type(value) == "table" then raises("this value is the same for all users", function() value.x = 1 end) end
  end
  same(table.concat(shared.list, ","), shared.list[1] .. "," .. shared.list[2] .. "," .. shared.list[3], "concat")
  raises("cannot set 'more': this value is the same for all users", function() shared.more = 1 end)
  same(shared.greeting, "hello", "as it was")
end } }

scenario { "two", users = 1, task { "sees the same", function()
  same(shared.greeting, "hello", "text")
  same(shared.list[3], "c", "list")
end } }
