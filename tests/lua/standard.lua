-- What is left of standard Lua, and what is not; sibling files.

local test = require "test"
local same, raises = test.same, test.raises

task { "strict globals", function()
  raises("global 'undeclared' is not declared", function() return undeclared end)
  raises("global 'undeclared' is not declared", function() undeclared = 1 end)
  raises("did you mean 'print'?", function() return prnt end)
  raises("not declared", function() task = nil end)
  raises("read-only", function() string.rep = nil end)
  raises("top level", function() task { function() end } end)
  for _, name in ipairs { "io", "package", "debug", "dofile", "loadfile", "collectgarbage" } do
    local ok = pcall(function() return _ENV[name] end)
    assert(not ok, name .. " is not there")
  end
  raises("not the name of a module", function() require "../libraries" end)
  same(require "lgoose.drupal", require "lgoose.drupal", "a module runs once")
  same(pcall(function() return string.dump end), false, "string.dump")
  same(rawget(string, "format"), nil, "libraries are behind a guard")
  same(("x"):rep(3), "xxx", "methods of strings")
  same(utf8.char(252), "ü", "utf8")
  same(getmetatable(""), false, "the metatable of strings is hidden")
end }

task { "base", function()
  for _, name in ipairs {
    "assert", "error", "getmetatable", "ipairs", "load", "next", "pairs", "pcall", "print", "rawequal", "rawget",
    "rawlen", "rawset", "require", "select", "setmetatable", "tonumber", "tostring", "type", "warn", "xpcall",
  } do
    same(type(_ENV[name]), "function", name)
  end
  same(load "return 1 + 1"(), 2, "text is loaded")
  same(load "\27Lua", nil, "bytecode is not")
  same(_VERSION, "Lua 5.4", "version")
  same(_G.print, print, "_G holds the globals")
  raises("not declared", function() _G.mine = 1 end)
  raises("expected a string", function() warn({}) end)
end }

task { "libraries", function()
  same(table.concat({ 1, 2 }, " "), "1 2", "table")
  same(math.floor(2.5), 2, "math")
  same(utf8.len "süß", 3, "utf8")
  assert(os.time() > 1700000000 and os.clock() >= 0, "clocks")
  same(os.date("!%Y-%m-%d", 1700000000), "2023-11-14", "date")
  for name, library in pairs { execute = os, getenv = os, exit = os, randomseed = math, dump = string } do
    raises("does not exist", function() return library[name] end)
  end
  raises("'__gc' is not available", setmetatable, {}, { __gc = print })
end }

task { "modules", function()
  same(require "test", test, "a file beside the plan runs once per user")
  raises("no module 'nothing'", require, "nothing")
  raises("is not the name of a module", require, "/etc/passwd")
  raises("is not the name of a module", require, "../lua/test")
end }
