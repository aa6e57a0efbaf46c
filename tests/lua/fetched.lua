-- The responses of user:fetch, read at once and much later.

local function same(got, wanted, what)
  assert(got == wanted, what .. ": " .. tostring(got) .. ", not " .. tostring(wanted))
end

task { "read at once", function(user)
  local page = user:get "/form"
  local answers = user:fetch(page:assets(), { name = "asset" })
  same(#answers, 3, "answers")
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
