-- Regular expressions, on strings and on responses.

local test = require "test"
local same, raises = test.same, test.raises

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
  raises("not valid", function() return regex "(" end)
end }

task { "matches", function(user)
  local page = user:get "/form"
  same(page:match 'data-n="(\\d)"', "1", "a capture of a pattern in quotes")
  same(page:match [[data-n="(\d)"]], "1", "first capture")
  local all = page:matches [[data-n="(\d)">(\w+)]]
  same(#all, 2, "all matches")
  same(all[2][2], "two", "second capture of the second match")
  same(page:match "<h1", "<h1", "the whole match without a capture")
end }

task { "mistakes", function()
  raises("expected a string or a response", function() return (regex "a"):match(nil) end)
  raises("expected a string here, not nil", function() return regex(nil) end)
  raises("unclosed group at character 6", regex, "name=(token")
end }
