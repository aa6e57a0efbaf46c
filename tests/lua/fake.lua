-- Made-up people and things.

local test = require "test"
local same, raises = test.same, test.raises

task { "made-up people and things", function()
  local fake = require "lgoose.fake"
  for _ = 1, 300 do
    local person = fake.person()
    same(person.name, person.first_name .. " " .. person.last_name, "both names")
    assert(person.username:find "^%l+%d%d%d%d$", person.username)
    same(person.email, person.username .. "@example.com", "mail that arrives nowhere")
    assert(person.birthday:find "^%d%d%d%d%-%d%d%-%d%d$" and person.birthday >= "1950-01-01", person.birthday)
    local place = fake.place()
    assert(#place.country_code == 2 and not place.postcode:find "[#@]", place.postcode)
    assert(place.street:find "^%u.*%d+$", place.street)
    local card, sum = fake.card(), 0
    for at = 1, #card.number do
      local digit = tonumber(card.number:sub(-at, -at))
      if at % 2 == 0 then digit = digit * 2 > 9 and digit * 2 - 9 or digit * 2 end
      sum = sum + digit
    end
    same(sum % 10, 0, "the check digit of " .. card.number)
    same(#card.number, card.brand == "amex" and 15 or 16, card.brand)
    assert(card.expires:find "^%d%d/%d%d$", card.expires)
    local day = fake.date("2024-02-28", "2024-03-01")
    assert(day == "2024-02-28" or day == "2024-02-29" or day == "2024-03-01", day)
  end
  same(fake.card("visa").number:sub(1, 1), "4", "a card of that brand")
  assert(fake.ipv4():find "^%d+%.%d+%.%d+%.%d+$", "an address")
  assert(fake.ipv6():find "^2001:db8:%x+:%x+::%x+$", "an address of IPv6")
  assert(fake.mac():find "^00:00:5e:00:53:%x%x$", "an address of a network card")
  assert(fake.company():find "^%u%l+ %u%l+$", "a company")
  same(select(2, fake.text(3):gsub("%.", "")), 3, "three sentences")
  raises("there are \"visa\"", fake.card, "gold")
  raises("is before", fake.date, "2024-01-02", "2024-01-01")
end }
