-- Several requests at a time: fetch and batch.

local test = require "test"
local same, raises = test.same, test.raises

task { "a page and its assets", function(user)
  local page = user:get "/form"
  local assets = page:assets()
  table.sort(assets)
  local host = user.host
  local all = { "/favicon.ico", "/images/geese.png", "/images/goose.png", "/misc/code.js", "/misc/style.css?v=1" }
  same(#assets, #all, "assets of the same host, each once")
  for place, path in ipairs(all) do
    same(assets[place], host .. path, "asset")
  end
  same(#page:assets(function(url) return url:find("%.png$") end), 2, "with a function")
  same(#page:assets { "/misc" }, 2, "assets with a filter")
  local delayed = {}
  for i = 1, 20 do
    delayed[i] = "/delay/10?" .. i
  end
  same(#user:fetch(delayed), 20, "more than go side by side")
  same(#user:fetch { "/a", "/b", "/a" }, 2, "each URL once")
  same(#user:fetch {}, 0, "nothing to fetch")
end }

task { "read at once", function(user)
  local page = user:get "/form"
  local answers = user:fetch(page:assets(), { name = "asset" })
  same(#answers, 5, "answers")
  for place, answer in ipairs(answers) do
    same(answer.status, 200, "status of an asset")
    same(answer.url, page:assets()[place], "in the order of the list")
  end
  for _, answer in pairs(user:fetch { "/size/10", "/size/10?again" }) do
    same(#answer.body, 10, "body")
  end
  local mixed = user:fetch { "/status/404", "/form" }
  same(mixed[1].ok, false, "the first failed")
  same(mixed[2]:title(), "A form & more", "the second did not")
  same(mixed[3], nil, "there is no third")
end }

task { "held for long", function(user)
  local lists = {}
  for i = 1, 50 do
    lists[i] = user:fetch({ "/size/10?" .. i, "/size/20?" .. i }, { name = "many" })
  end
  for i = 1, 50 do
    same(#lists[i][1].body, 10, "a fetched body held for long")
    same(#lists[i][2].body, 20, "a fetched body held for long")
  end
  local second = user:fetch({ "/size/30", "/size/40" }, { name = "many" })[2]
  for _ = 1, 100 do
    user:get("/size/5000", { name = "many" })
  end
  same(#second.body, 40, "one of a list, held alone")
end }

task { "side by side", function(user)
  local answers = user:batch {
    { path = "/echo?n=1" },
    { method = "POST", path = "/echo", body = "b", headers = { ["X-Own"] = "2" }, name = "second" },
    { method = "PUT", path = "/echo", json = { n = 3 } },
  }
  same(#answers, 3, "answers")
  same(answers[1]:json().path, "/echo?n=1", "first")
  same(answers[2]:json().headers["x-own"], "2", "second")
  same(answers[3]:json().body, '{"n":3}', "third")
  for n, answer in ipairs(answers) do
    assert(answer.ok, "answer " .. n)
  end
end }

task { "mistakes", function(user)
  raises("a list of URLs", user.fetch, user, "/x")
  raises("a URL of user:fetch", user.fetch, user, { 5 })
  raises("a list of requests", user.batch, user, "/x")
  raises("a request must be a table", user.batch, user, { "/x" })
  raises("unknown option 'wait'", user.batch, user, { { path = "/x", wait = 1 } })
end }
