-- Random values.

local test = require "test"
local same, raises = test.same, test.raises

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
  assert(random.name():find "^%u%l+ %u%l+$", "name")
  assert(random.email():find "^%l+%.%l+%.%d+@example%.com$", "email")
  assert(random.phone():find "^%+1%-%d12%-555%-01%d%d$", "phone")
  raises("2 is larger than 1", function() random.int(2, 1) end)
  raises("empty", function() random.choice {} end)
end }

task { "mistakes", function()
  raises("expected a whole number here, not nil", random.int)
  raises("expected a whole number here", random.int, 1.5, 2)
  raises("expected a table here, not nil", random.choice)
  raises("at least one weight must be above 0", random.weighted, { a = 0 })
  raises("n must be from 0", random.string, -1)
  raises("did you mean 'float'?", function() return random.floot end)
end }

task { "parts of a list", function()
  local list = { 1, 2, 3, 4, 5 }
  local all = random.shuffle(list)
  table.sort(all)
  same(table.concat(all), "12345", "the same elements")
  same(table.concat(list), "12345", "the list itself stays")
  for n = 0, 5 do
    local some, seen = random.sample(list, n), {}
    for _, one in ipairs(some) do
      assert(not seen[one], "each once")
      seen[one] = true
    end
    same(#some, n, "so many")
  end
  same(#random.bytes(16), 16, "bytes")
  assert(random.bytes(16) ~= random.bytes(16), "of chance")
  raises("from 0 to the length of the list, 5, not 6", random.sample, list, 6)
  raises("random.bytes(n): n must be from 0", random.bytes, -1)
end }

task { "distributions", function()
  local times, heights, squares = 0, 0, 0
  local N = 4000
  for _ = 1, N do
    local time = random.exponential(3)
    assert(time >= 0, "a time")
    times = times + time
    local height = random.normal(170, 10)
    heights, squares = heights + height, squares + (height - 170) ^ 2
  end
  -- Five standard errors of each mean.
  assert(math.abs(times / N - 3) < 0.25, "the mean of the exponential distribution")
  assert(math.abs(heights / N - 170) < 0.8, "the mean of the normal distribution")
  assert(math.abs(math.sqrt(squares / N) - 10) < 0.6, "its deviation")
  same(random.exponential(0), 0.0, "no time")
  same(random.normal(5, 0), 5.0, "no deviation")
  raises("the mean must not be negative, and it is -1", random.exponential, -1)
  raises("the deviation must not be negative", random.normal, 1, -1)
  raises("the deviation must not be negative", random.normal, 1, 0 / 0)
end }

task { "keys", function()
  local seen = {}
  for _ = 1, 200 do seen[random.key { a = 1, b = false, c = "x" }] = true end
  assert(seen.a and seen.b and seen.c, "each key")
  raises("random.key(table): the table is empty", random.key, {})
end }
