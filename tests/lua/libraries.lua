-- The libraries of plans and what is left of Lua's.

local function same(got, wanted, what)
  assert(got == wanted, what .. ": " .. tostring(got) .. ", not " .. tostring(wanted))
end

local function raises(fn, part)
  local ok, problem = pcall(fn)
  assert(not ok, "no error with '" .. part .. "'")
  assert(tostring(problem):find(part, 1, true), "'" .. part .. "' is missing in: " .. tostring(problem))
end

task { "regex", function(user)
  local date = regex [[(?<year>\d{4})-(?<month>\d\d)]]
  local found = date:match "on 2024-05-06"
  same(found.year, "2024", "named group")
  same(found.month, "05", "named group")
  same(date:match "never", nil, "no match")
  same(select("#", (regex "(a)(b)?(c)"):match "ac"), 3, "captures")
  same(select(2, (regex "(a)(b)?(c)"):match "ac"), nil, "a capture that took no part")
  same(#(regex [[\d+]]):matches "1 22 333", 3, "matches")
  same((regex [[\d+]]):matches("1 22 333")[3], "333", "third match")
  same((regex "^a"):test "abc", true, "test")
  same((regex "(a)(b)"):replace("abab", "$2$1"), "baba", "replace")
  same((regex "ü+"):match "süüß", "üü", "beyond ASCII")
  local page = user:get "/form"
  same((regex "<li[^>]*>(\\w+)"):match(page), "one", "on a response")
  same((regex "goose"):test(page), true, "on a response")
  raises(function() return regex "(" end, "not valid")
end }

task { "random", function()
  for _ = 1, 200 do
    local n = random.int(3, 5)
    assert(n >= 3 and n <= 5 and math.type(n) == "integer", "int")
    local x = random.float()
    assert(x >= 0 and x < 1, "float")
    assert(math.random(6) >= 1 and math.random(6) <= 6, "math.random")
    local choice = random.choice { "a", "b" }
    assert(choice == "a" or choice == "b", "choice")
    same(random.weighted { always = 1, never = 0 }, "always", "weighted")
  end
  same(random.int(7, 7), 7, "one number")
  same(#random.string(12), 12, "string")
  same(select(2, random.words(3):gsub(" ", " ")), 2, "words")
  assert(random.uuid():find "^%x+%-%x+%-4%x+%-[89ab]%x+%-%x+$", "uuid")
  raises(function() random.int(2, 1) end, "2 is larger than 1")
  raises(function() random.choice {} end, "empty")
end }

task { "json", function()
  same(json.encode { b = 1, a = { true, json.null } }, '{"a":[true,null],"b":1}', "encode")
  local value = json.decode '{"n": 1, "x": 1.5, "s": "\\u00fc", "l": [], "none": null}'
  same(math.type(value.n), "integer", "integers stay integers")
  same(value.x, 1.5, "float")
  same(value.s, "ü", "string")
  same(value.none, json.null, "null")
  raises(function() json.decode "{" end, "this is not JSON")
  raises(function() json.encode { function() end } end, "cannot encode")
  local loop = {}
  loop.loop = loop
  raises(function() json.encode(loop) end, "cannot encode")
end }

task { "env and log", function(user)
  same(env "LGOOSE_TEST_VARIABLE", "given", "from -e")
  same(env("LGOOSE_TEST_NOTHING", "default"), "default", "default")
  same(env "LGOOSE_TEST_NOTHING", nil, "nothing")
  log.debug "a debug line"
  log.info("an info line", 1)
  log.warn "a warn line"
  log.error "an error line"
  user:log "a line of the user"
  print("a printed line", 2)
end }

task { "user", function(user)
  same(user.id, 1, "id")
  same(user.scenario, "default", "scenario")
  same(user.task, "user", "task")
  same(user.iteration, 1, "iteration")
  user.data.kept = (user.data.kept or 0) + 1
  same(user.data.kept, 1, "data")
  raises(function() user.kept = 1 end, "user.data.kept")
  raises(function() return user.gett end, "did you mean 'get'?")
  user:wait(0)
  user:wait(0.001, 0.002)
  raises(function() user:wait "soon" end, "number of seconds")
  raises(function() user:wait(-1) end, "-1")
  raises(function() user:wait(2, 1) end, "smaller")
end }

task { "strict globals", function()
  raises(function() return undeclared end, "global 'undeclared' is not declared")
  raises(function() undeclared = 1 end, "global 'undeclared' is not declared")
  raises(function() return prnt end, "did you mean 'print'?")
  raises(function() task = nil end, "not declared")
  raises(function() string.rep = nil end, "read-only")
  raises(function() task { function() end } end, "top level")
  for _, name in ipairs { "io", "package", "debug", "dofile", "loadfile", "collectgarbage", "_G" } do
    local ok = pcall(function() return _ENV[name] end)
    assert(not ok, name .. " is not there")
  end
  raises(function() require "../libraries" end, "not the name of a module")
  same(require "lgoose.drupal", require "lgoose.drupal", "a module runs once")
  same(pcall(function() return string.dump end), false, "string.dump")
  same(rawget(string, "format"), nil, "libraries are behind a guard")
  same(("x"):rep(3), "xxx", "methods of strings")
  same(utf8.char(252), "ü", "utf8")
  same(getmetatable(""), false, "the metatable of strings is hidden")
end }

task { "coroutines", function(user)
  local reader = coroutine.wrap(function(first)
    local got = first
    while true do
      local page = user:get("/size/10?" .. got)
      got = coroutine.yield(page.body)
    end
  end)
  same(reader "a", "0123456789", "a request inside a coroutine")
  same(reader "b", "0123456789", "and one more")
  local co = coroutine.create(function(a, b)
    local c = coroutine.yield(a + b)
    user:wait(0.001)
    local inner = coroutine.wrap(function() return user:get("/echo").status end)
    return c .. inner()
  end)
  local ok, sum = coroutine.resume(co, 1, 2)
  same(ok, true, "resume")
  same(sum, 3, "what is yielded comes back")
  local _, text = coroutine.resume(co, "x")
  same(text, "x200", "a request two coroutines deep")
  same(coroutine.status(co), "dead", "status")
  local failing = coroutine.wrap(function()
    user:get "/echo"
    error("inside", 0)
  end)
  local went_well, problem = pcall(failing)
  same(went_well, false, "an error inside comes out")
  same(problem, "inside", "as it was raised")
end }

task { "pcall", function(user)
  local ok, page = pcall(function() return user:get "/size/20" end)
  same(ok, true, "a request inside pcall")
  same(#page.body, 20, "its response")
  local went_well, problem = pcall(function()
    user:get "/echo"
    error { code = 7 }
  end)
  same(went_well, false, "an error after a request")
  same(problem.code, 7, "a table as an error")
  raises(function() user.get "/echo" end, "the path must be a string")
  raises(function() user:get("/echo", { nme = "x" }) end, "did you mean 'name'?")
  raises(function() user:get("/echo", { expect = { stauts = 200 } }) end, "did you mean 'status'?")
  raises(function() user:get(5) end, "the path must be a string")
  raises(function() user:post("/echo", { a = 1 }) end, "form")
  raises(function() user:post("/echo", "b", { json = {} }) end, "one body")
  same(user:get("/echo").ok, true, "the user goes on")
end }

task { "many responses", function(user)
  local kept = {}
  for i = 1, 200 do
    kept[i] = user:get("/status/" .. 200 + i % 3, { name = "many" })
    local other = user:get("/size/" .. 10 * i, { name = "many" })
    assert(#other.body == 10 * i, "body of " .. i)
    if i % 50 == 0 then user:wait(0.001) end
  end
  for i = 1, 200 do
    same(kept[i].body, kept[i].status == 204 and "" or "status " .. 200 + i % 3, "body of a response held for long")
    same(kept[i].headers["content-length"] ~= nil, true, "its headers")
  end
end }
