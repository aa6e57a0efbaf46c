-- Mistakes that an editor must point out. Read by tests/editor/check: each line that has one names the kinds of
-- its warnings behind '--!', in the order of the alphabet. The tasks have a weight since the checker does not see
-- the types of locals in a function whose table has no named field.

plan { host = 5 } --! assign-type-mismatch
plan { hatch_rate = true } --! assign-type-mismatch
on("test_strt", function() end) --! param-type-mismatch

scenario { "a",
  weight = "x", --! assign-type-mismatch
  order = "shufled", --! assign-type-mismatch
  wait = wait.betwen(1, 2), --! undefined-field
  task { "members that are not there", weight = 1, function(user)
    user:gett "/" --! undefined-field
    user.nothing = 1 --! inject-field
    user.cookies:gt "x" --! undefined-field
    local page = user:get "/"
    page:titel() --! undefined-field
    print(page.headrs, page.timings.sent) --! undefined-field
    for _, link in ipairs(page:css "a") do
      link:txt() --! undefined-field
    end
    random.itn(1, 2) --! undefined-field
    metric.counter("x"):ad(1) --! undefined-field
    regex("a"):mtch "x" --! undefined-field
    data.lines("x"):nxt() --! undefined-field
    html.parse("<p>"):titel() --! undefined-field
    print(undeclared) --! undefined-global
  end },
  task { "values that do not fit", weight = 1, function(user)
    user:get(5) --! param-type-mismatch
    user:get("/", { timeout = "soon" }) --! param-type-mismatch
    user:get("/", { expect = { status = "200" } }) --! param-type-mismatch
    user:get("/", { compress = "br" }) --! param-type-mismatch
    user:post("/", { a = 1 }) --! param-type-mismatch
    user:request { method = "GET" } --! missing-fields param-type-mismatch
    user:submit(user:get "/") --! param-type-mismatch
    user:transaction(function() end) --! missing-parameter
    user:wait "soon" --! param-type-mismatch
    random.int("a", 2) --! param-type-mismatch
    data.csv("x", { order = "uniqe" }) --! param-type-mismatch
    check() --! missing-parameter
  end },
}
