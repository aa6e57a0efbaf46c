-- Data of files, one user's view; who gets which row when users share them is a test of its own.

local test = require "test"
local same, raises = test.same, test.raises

local users = data.csv "data/users.csv"

task { "csv", function(user)
  same(#users, 3, "rows")
  same(users:next().name, "ann", "first")
  same(users:next().pass, "b,2", "a quoted cell")
  same(users:next().pass, "", "an empty cell")
  same(users:next().name, "ann", "again from the start")
  same(users:get(2).name, "bob", "by number")
  same(users[3].name, "cat", "by index")
  same(users[4], nil, "beyond the last")
  local row = data.csv("data/users.csv", { order = "random" }):next()
  same(user:post("/echo", nil, { form = row }):json().body:match "^name=%a+&pass=", "name=" .. row.name .. "&pass=", "sent")
end }

task { "lines", function()
  local paths = data.lines("data/paths.txt", { order = "sequential" })
  same(#paths, 3, "empty lines are none")
  for _, wanted in ipairs { "/a", "/b", "/c", "/a" } do
    same(paths:next(), wanted, "line")
  end
end }

task { "csv with another separator", function()
  local places = data.csv("data/places.csv", { separator = ";" })
  same(places[1].note, "a, b", "a comma in a cell")
  same(places[2].note, "c;d", "a quoted cell")
  same(data.csv("data/places.csv", { separator = "\t" })[1]["name;note"], "Bern;a, b", "a tab")
  for _, separator in ipairs { "|", ":" } do
    same(#data.csv("data/places.csv", { separator = separator }), 2, separator)
  end
  raises("has been read with 4 other separators", data.csv, "data/places.csv", { separator = "#" })
  same(#data.csv("data/places.csv", { separator = ";" }), 2, "one of the four")
end }

task { "json by lines", function()
  local events = data.jsonl "data/events.jsonl"
  same(#events, 3, "empty lines are none")
  same(events[1].tags[1], "x", "a value")
  same(events[3], "three", "any value")
  same(data.jsonl("data/events.jsonl", { order = "sequential" }):next().id, 1, "rows")
end }

task { "json", function()
  same(data.json("data/nodes.json")[1].tags[1], "x", "the whole value")
  same(data.json("data/nodes.json", { order = "circular" }):next().id, 1, "rows of a list")
end }

task { "csv without names, compressed, and row by row from the file", function(user)
  local columns = { "name", "pass" }
  local bare = data.csv("data/bare.csv", { columns = columns })
  same(#bare, 2, "its first line is a row")
  same(bare[2].pass, "b,2", "by the names of the plan")
  same(data.csv("data/users.csv.gz")[2].pass, "b,2", "compressed")
  same(data.lines("data/users.csv.gz")[1], "name,pass", "lines of a compressed file")
  local streamed = data.csv("data/users.csv", { stream = true, order = "sequential" })
  same(#streamed, 3, "rows that stay in the file")
  same(streamed[3].name, "cat", "by number")
  same(streamed:next().name .. streamed:next().pass, "annb,2", "one after the other")
  same(data.csv("data/bare.csv", { stream = true, columns = columns })[1].name, "ann", "with names of the plan")
  same(data.lines("data/paths.txt", { stream = true })[3], "/c", "a line")
  local count = 0
  for place, row in pairs(streamed) do
    count = count + 1
    same(row.name, streamed[place].name, "in turn")
  end
  same(count, 3, "all of them")
end }

task { "json5 and yaml", function(user)
  for _, shop in ipairs { data.json5 "data/shop.json5", data.yaml "data/shop.yaml" } do
    same(shop.currency, "EUR", "a text")
    same(shop.items[1].price, 0.5, "a number")
    same(#shop.items, 2, "a list")
  end
  same(data.json5("data/shop.json5").large, 16, "hexadecimal digits")
  same(data.yaml("data/shop.yaml").best.id, 2, "an alias")
  same(data.yaml("data/shop.yaml").nothing, json.null, "null")
  raises("nested", data.json5, "data/deep.json5")
  raises("is not YAML", data.yaml, "data/deep.json5")
end }

task { "a value that all users have once", function(user)
  local shop = data.yaml "data/shop.yaml"
  same(type(shop) .. type(shop.items), "tabletable", "types")
  same(shop.items == shop.items, true, "the same each time")
  same(#shop.items .. #shop, "20", "lengths")
  same(shop.absent, nil, "no such name")
  same(shop.items[3], nil, "beyond the last")
  same(shop.items[0], nil, "before the first")
  same(shop.items[1.0].id, 1, "a whole number")
  same(next(shop), "best", "not empty")
  same(next(shop.items, 2), nil, "after the last")
  raises("invalid key", next, shop, "absent")
  local names = {}
  for name in pairs(shop) do names[#names + 1] = name end
  same(table.concat(names, " "), "best currency items nothing", "names in their order")
  local sum = 0
  for place, item in pairs(shop.items) do sum = sum + place * item.id end
  for place, item in ipairs(shop.items) do sum = sum + place * item.id end
  same(sum, 10, "both iterators")
  same(select("#", table.unpack(shop.items)), 2, "unpacked")
  raises("cannot set 'currency'", function() shop.currency = "USD" end)
  raises("cannot set '3'", table.insert, shop.items, {})
  raises("json.copy(value)", table.sort, shop.items, function(a, b) return a.id > b.id end)
  same(getmetatable(shop), false, "no way behind it")

  local copy = json.copy(shop)
  copy.currency, copy.items[3] = "USD", { id = 3 }
  same(copy.currency .. #copy.items .. shop.currency .. #shop.items, "USD3EUR2", "a copy of the plan's own")
  local mixed = { within = { shop.items, "x" } }
  same(json.copy(mixed).within[1][2].id, 2, "a copy of what is within a table")

  -- Whatever reads tables reads these.
  same(json.encode(shop.items), '[{"id":1,"price":0.5},{"id":2}]', "encoded")
  same(json.encode(mixed), '{"within":[[{"id":1,"price":0.5},{"id":2}],"x"]}', "encoded within a table")
  same(json.get(shop, "items[-1].id"), 2, "a path")
  same(#json.get(mixed, "within[0][*].id"), 2, "a path within a table")
  same(random.choice(shop.items).id < 3, true, "drawn")
  same(#random.sample(shop.items, 2), 2, "a sample")
  same(#random.shuffle(shop.items), 2, "shuffled")
  same(user:post("/echo", nil, { json = { list = shop.items } }):json().body, '{"list":[{"id":1,"price":0.5},{"id":2}]}', "sent as JSON")
  same(user:post("/echo", nil, { form = shop.best }):json().body, "id=2", "sent as a form")
  same(user:request { path = "/echo", method = "POST", form = { pair = shop.best } } :json().body, "pair%5Bid%5D=2", "within a form")
end }

task { "mistakes", function()
  raises("there is no file 'data/nothing.csv'", data.csv, "data/nothing.csv")
  raises("outside the plan's folder", data.lines, "../../Cargo.toml")
  raises("did you mean 'unique'?", data.csv, "data/users.csv", { order = "uniqe" })
  raises("option 'columns' must be a list of names", data.csv, "data/bare.csv", { columns = "name" })
  raises("two columns are named 'a'", data.csv, "data/bare.csv", { columns = { "a", "a" } })
  raises("2 columns, but option 'columns' names 3", data.csv, "data/bare.csv", { columns = { "a", "b", "c" } })
  raises("option 'stream' must be true or false", data.csv, "data/bare.csv", { stream = 1 })
  raises("unknown option 'stream'", data.json, "data/nodes.json", { stream = true })
  raises("is compressed", data.csv, "data/users.csv.gz", { stream = true })
  raises("did you mean 'order'?", data.csv, "data/users.csv", { ordr = "unique" })
  raises("unknown option 'separator'", data.lines, "data/paths.txt", { separator = ";" })
  raises("option 'separator' is one character", data.csv, "data/users.csv", { separator = "" })
  raises("option 'separator' must be a string", data.csv, "data/users.csv", { separator = 5 })
  raises("did you mean 'next'?", function() return users.nxt end)
end }
