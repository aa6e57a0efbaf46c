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

task { "mistakes", function()
  raises("there is no file 'data/nothing.csv'", data.csv, "data/nothing.csv")
  raises("outside of the plan's folder", data.lines, "../../Cargo.toml")
  raises("did you mean 'unique'?", data.csv, "data/users.csv", { order = "uniqe" })
  raises("did you mean 'order'?", data.csv, "data/users.csv", { ordr = "unique" })
  raises("unknown option 'separator'", data.lines, "data/paths.txt", { separator = ";" })
  raises("option 'separator' is one character", data.csv, "data/users.csv", { separator = "" })
  raises("option 'separator' must be a string", data.csv, "data/users.csv", { separator = 5 })
  raises("did you mean 'next'?", function() return users.nxt end)
end }
