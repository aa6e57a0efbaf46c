-- Coroutines of the plan's own and protected calls let requests through.

local test = require "test"
local same = test.same

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

task { "where Lua calls by itself", function(user)
  same(setmetatable({}, { __index = function() return user:get("/echo").status end }).any, 200, "a metamethod")
  for status in function() return user:get("/echo").status end do
    same(status, 200, "an iterator")
    break
  end
  local closed
  do
    local _ <close> = setmetatable({}, { __close = function() closed = user:get("/echo").status end })
  end
  same(closed, 200, "a variable that is closed")
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

task { "errors in words of Lua's own", function(user)
  for _, text in ipairs { "not enough memory", "attempt to yield from outside a coroutine", "stack overflow" } do
    local ok, problem = pcall(error, text, 0)
    same(problem, text, "caught")
    ok, problem = pcall(assert, false, text)
    same(problem, text, "asserted")
    ok, problem = pcall(coroutine.wrap(function() error(text, 0) end))
    same(problem, text, "out of a coroutine")
    ok, problem = coroutine.resume(coroutine.create(function() error(text, 0) end))
    same(problem, text, "of a coroutine that is resumed")
    ok, problem = xpcall(error, function(of) return "<" .. of .. ">" end, text, 0)
    same(problem, "<" .. text .. ">", "seen by a handler")
    user.data.kept = text
    same(user.data.kept, text, "the user keeps its data")
  end
end }
