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
  raises("argument too many, a string", function() user:get("/json"):json("name", "list") end)
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

task { "paths", function(user)
  local response = user:get("/json")
  same(response:json "name", "goose", "a member")
  same(response:json "list[0]", response:json().list[1], "the first element")
  same(response:json "list[-1]", response:json().list[3], "the last element")
  same(response:json "list.1", response:json().list[1], "an element as Lua counts")
  same(#response:json "list[*]", 3, "all elements")
  same(response:json "none", json.null, "null")
  same(response:json "nothing.at.all", nil, "nothing there")
  raises("the path 'list[': a ']' is missing", function() response:json "list[" end)
  raises("the path must be a string", function() response:json(1) end)

  local text = [==[{"data": {"items": [{"id": 7, "tags": ["a", "b"]}, {"id": 8, "tags": []}, {"x": 1}], "a.b": 2, "n": [[1, 2], [3]]}}]==]
  local value = json.decode(text)
  for path, wanted in pairs {
    ["data.items[0].id"] = "7", ["data.items[-2].id"] = "8", ["$.data['a.b']"] = "2", ["data.items[*].id"] = "[7,8]",
    ["data.items[*].tags[*]"] = '["a","b"]', ["data.items[5].id"] = "null", ["data.items[-4].id"] = "null", ["data.n[*][0]"] = "[1,3]",
    ["data.items[*].none"] = "[]", ["data.items[0].tags"] = '["a","b"]', ["data.n[-1][-1]"] = "3",
  } do
    local got = json.get(value, path)
    same(json.encode(got == nil and json.null or got), wanted, path)
    local sent = user:post("/echo", text):json "body"
    same(sent, text, "the site answers with what it got")
  end
  raises("the value is a text", function() json.get(text, "data") end)
  raises("the path must be a string, not nil", function() json.get({}) end)
  same(json.get({ a = 1 }, "a.b"), nil, "not within a number")
  local loop = {}
  loop[1], loop[2] = loop, loop
  same(#json.get(loop, ("[*]"):rep(10)), 1024, "a table within itself")
end }

task { "null by its name", function(user)
  local value = json.decode('{"a":null}').a
  same(value, json.null, "the same")
  same(tostring(value), "json.null", "as text")
  same(type(value), "userdata", "type")
  for what, fn in pairs {
    ["attempt to index json.null (field 'b')"] = function() return value.b end,
    ["attempt to index json.null (field 'c')"] = function() value.c = 1 end,
    ["attempt to concatenate json.null"] = function() return "a" .. value end,
    ["attempt to perform arithmetic on json.null"] = function() return 1 - value end,
    ["attempt to call json.null"] = function() value() end,
    ["attempt to get length of json.null"] = function() return #value end,
    ["attempt to compare json.null"] = function() return value < 1 end,
    ["string expected, got json.null"] = function() return ("x"):find(value) end,
    ["expected a string here, not json.null"] = function() return string.rep(value, 2) end,
    ["the path must be a string, not json.null"] = function() user:get(value) end,
    ["must be a number of seconds, not json.null"] = function() user:get("/", { timeout = value }) end,
    ["header 'a' must be a string, a number or a boolean, not json.null"] = function() user:set_header("a", value) end,
  } do
    raises(what, fn)
  end
end }
