-- JSON read and written.

local test = require "test"
local same, raises = test.same, test.raises

task { "json", function()
  same(json.encode { b = 1, a = { true, json.null } }, '{"a":[true,null],"b":1}', "encode")
  local value = json.decode '{"n": 1, "x": 1.5, "s": "\\u00fc", "l": [], "none": null}'
  same(math.type(value.n), "integer", "integers stay integers")
  same(value.x, 1.5, "float")
  same(value.s, "ü", "string")
  same(value.none, json.null, "null")
  raises("this is not JSON", function() json.decode "{" end)
  raises("cannot encode", function() json.encode { function() end } end)
  local loop = {}
  loop.loop = loop
  raises("cannot encode", function() json.encode(loop) end)
end }

task { "nothing is dropped", function(user)
  raises("the place 1 and the name 'a'", function() json.encode { 1, a = 2 } end)
  raises("without holes", function() json.encode { [1] = 1, [3] = 3 } end)
  raises("without holes", function() json.encode { x = { [0] = 1 } } end)
  raises("write json.null", function() json.encode { [2] = 1 } end)
  raises("the name of a field is a string, not a boolean", function() json.encode { [true] = 1 } end)
  raises("without holes", function() user:post("/echo", nil, { json = { 1, nil, 3 } }) end)
  same(json.encode { 1, json.null, 3 }, "[1,null,3]", "a hole that is meant")
  same(json.decode "12345678901234567890123", "12345678901234567890123", "a large integer")
  same(json.decode "[9223372036854775808]"[1], "9223372036854775808", "one too large by one")
  same(json.decode "9223372036854775807", math.maxinteger, "the largest")
  same(json.decode "-9223372036854775808", math.mininteger, "the smallest")
  same(json.decode "1e30", 1e30, "a float")
  raises("argument too many, a number", function() json.decode("1", 2) end)
  raises("argument too many, a string", function() user:get("/json"):json "name" end)
  same(user:get("/json"):json(nil).name, "goose", "nil is nothing")
end }

task { "of a response", function(user)
  local value = user:get("/json"):json()
  same(value.name, "goose", "a field")
  same(#value.list, 3, "a list")
  same(value.none, json.null, "null")
  local ok, problem = pcall(function() return user:get("/headers"):json() end)
  assert(not ok and tostring(problem):find("JSON", 1, true), "no JSON is told: " .. tostring(problem))
end }

task { "arrays", function(user)
  same(json.encode {}, "{}", "an empty table")
  same(json.encode(json.array {}), "[]", "an empty array")
  same(json.encode(json.array()), "[]", "one made here")
  local list = json.array { 1, 2 }
  list[#list + 1] = 3
  same(json.encode { a = list, b = json.array {} }, '{"a":[1,2,3],"b":[]}', "lists")
  same(json.encode(json.array(list)), "[1,2,3]", "marked twice")
  local decoded = json.decode '{"l":[],"o":{},"n":[[],[1]]}'
  same(json.encode(decoded), '{"l":[],"n":[[],[1]],"o":{}}', "what was decoded")
  table.remove(decoded.n)
  table.remove(decoded.n)
  same(json.encode(decoded.n), "[]", "and emptied")
  same(user:post("/echo", nil, { json = { tags = json.array {} } }):json().body, '{"tags":[]}', "sent")
  raises("no named fields", json.array, { a = 1 })
  raises("must be a table", json.array, "a")
  raises("metatable", json.array, setmetatable({}, {}))
end }
