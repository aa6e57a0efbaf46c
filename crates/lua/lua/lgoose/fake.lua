---People, places, cards and addresses that belong to nobody, for forms and registrations. They come from the user's random stream, so
---they repeat with `--seed`. Mail goes to example.com, addresses of machines are those reserved for documentation (RFC 5737, RFC 3849,
---RFC 7042), and cards have a right check digit and no account.
---
---    local fake = require "lgoose.fake"
---    local person = fake.person()
---    user:post("/register", nil, { form = { name = person.name, mail = person.email, city = fake.place().city } })
---@class lgoose.fake
local fake = {}

---@class lgoose.fake.Person
---@field first_name string
---@field last_name string
---@field name string # both
---@field username string # small letters and digits
---@field email string
---@field phone string
---@field birthday string # `1984-05-21`, of an adult

---@class lgoose.fake.Place
---@field street string # with a number
---@field city string
---@field postcode string # in the form of the country
---@field country string
---@field country_code string # of two letters

---@class lgoose.fake.Card
---@field brand "visa"|"mastercard"|"amex"
---@field number string # digits without spaces
---@field expires string # `08/31`, from next year on
---@field cvc string

-- City, country, code of the country, and the form of postcodes: '#' is a digit and '@' a letter.
local CITIES = {
  { "Amsterdam", "Netherlands", "NL", "#### @@" }, { "Athens", "Greece", "GR", "### ##" },
  { "Auckland", "New Zealand", "NZ", "####" }, { "Berlin", "Germany", "DE", "1####" },
  { "Bogotá", "Colombia", "CO", "11####" }, { "Boston", "United States", "US", "021##" },
  { "Brussels", "Belgium", "BE", "1###" }, { "Budapest", "Hungary", "HU", "1###" },
  { "Cape Town", "South Africa", "ZA", "80##" }, { "Chicago", "United States", "US", "606##" },
  { "Copenhagen", "Denmark", "DK", "2###" }, { "Delhi", "India", "IN", "1100##" },
  { "Dublin", "Ireland", "IE", "D0# @###" }, { "Hamburg", "Germany", "DE", "2####" },
  { "Helsinki", "Finland", "FI", "00###" }, { "Istanbul", "Türkiye", "TR", "34###" },
  { "Kraków", "Poland", "PL", "30-###" }, { "Lagos", "Nigeria", "NG", "10####" },
  { "Lisbon", "Portugal", "PT", "1###-###" }, { "London", "United Kingdom", "GB", "E1# #@@" },
  { "Lyon", "France", "FR", "6900#" }, { "Madrid", "Spain", "ES", "280##" },
  { "Mexico City", "Mexico", "MX", "06###" }, { "Milan", "Italy", "IT", "201##" },
  { "Nairobi", "Kenya", "KE", "00###" }, { "Osaka", "Japan", "JP", "53#-####" },
  { "Oslo", "Norway", "NO", "0###" }, { "Paris", "France", "FR", "7501#" },
  { "Prague", "Czechia", "CZ", "1## ##" }, { "Recife", "Brazil", "BR", "50###-###" },
  { "Santiago", "Chile", "CL", "83#####" }, { "Seattle", "United States", "US", "981##" },
  { "Stockholm", "Sweden", "SE", "11# ##" }, { "Sydney", "Australia", "AU", "2###" },
  { "Toronto", "Canada", "CA", "M#@ #@#" }, { "Vienna", "Austria", "AT", "1##0" },
}
local STREETS = {
  "Bridge Street", "Castle Road", "Church Lane", "Garden Street", "Harbour Road", "High Street", "King Street", "Lake View",
  "Linden Avenue", "Market Square", "Mill Lane", "Museum Street", "New Road", "North Street", "Oak Avenue", "Park Road",
  "Queen Street", "River Walk", "School Lane", "South Street", "Station Road", "Theatre Place", "University Street", "West End",
}
local TRADES = {
  "Analytics", "Bakery", "Books", "Brewery", "Consulting", "Energy", "Films", "Foods", "Games", "Logistics", "Media", "Motors",
  "Outfitters", "Partners", "Software", "Travel",
}
local DOCUMENTATION = { "192.0.2.", "198.51.100.", "203.0.113." }
local CARDS = {
  visa = { prefixes = { "4" }, length = 16, cvc = 3 },
  mastercard = { prefixes = { "51", "52", "53", "54", "55" }, length = 16, cvc = 3 },
  amex = { prefixes = { "34", "37" }, length = 15, cvc = 4 },
}

local function digits(n)
  return ("%0" .. n .. "d"):format(random.int(0, 10 ^ n // 1 - 1 | 0))
end

local function filled(form)
  local text = form:gsub("[#@]", function(sign)
    if sign == "#" then return digits(1) end
    return string.char(random.int(65, 90))
  end)
  return text
end

-- The digit that makes the sum of a number right (ISO/IEC 7812-1, Luhn).
local function check_digit(number)
  local sum, doubled = 0, true
  for place = #number, 1, -1 do
    local digit = number:byte(place) - 48
    if doubled then digit = digit > 4 and 2 * digit - 9 or 2 * digit end
    sum, doubled = sum + digit, not doubled
  end
  return (10 - sum % 10) % 10
end

---@return lgoose.fake.Person
function fake.person()
  local name = random.name()
  local first, last = name:match "^(%S+) (.+)$"
  local username = (first:sub(1, 1) .. last):lower():gsub("[^a-z]", "") .. digits(4)
  return {
    first_name = first,
    last_name = last,
    name = name,
    username = username,
    email = username .. "@example.com",
    phone = random.phone(),
    birthday = fake.date("1950-01-01", "2004-12-31"),
  }
end

---@return lgoose.fake.Place
function fake.place()
  local city = random.choice(CITIES)
  return {
    street = random.choice(STREETS) .. " " .. random.int(1, 180),
    city = city[1],
    postcode = filled(city[4]),
    country = city[2],
    country_code = city[3],
  }
end

---Returns the name of a company.
---@return string
function fake.company()
  return random.name():match "(%S+)$" .. " " .. random.choice(TRADES)
end

---@param brand? "visa"|"mastercard"|"amex" # (default: any)
---@return lgoose.fake.Card
function fake.card(brand)
  brand = brand or random.key(CARDS)
  local kind = CARDS[brand]
  if not kind then error("fake.card: there are \"visa\", \"mastercard\" and \"amex\", not '" .. tostring(brand) .. "'", 2) end
  local number = random.choice(kind.prefixes)
  while #number < kind.length - 1 do number = number .. digits(1) end
  local year = tonumber(time.format "%y") + random.int(1, 5)
  return {
    brand = brand,
    number = number .. check_digit(number),
    expires = ("%02d/%02d"):format(random.int(1, 12), year % 100),
    cvc = digits(kind.cvc),
  }
end

---Returns an address of IPv4.
---@return string
function fake.ipv4() return random.choice(DOCUMENTATION) .. random.int(1, 254) end

---Returns an address of IPv6.
---@return string
function fake.ipv6()
  return ("2001:db8:%x:%x::%x"):format(random.int(0, 65535), random.int(0, 65535), random.int(1, 65535))
end

---Returns an address of a network card.
---@return string
function fake.mac() return ("00:00:5e:00:53:%02x"):format(random.int(0, 255)) end

---Returns a day between two days, both included, as `2024-05-21`.
---@param from string # such as "2020-01-01"
---@param to string
---@return string
function fake.date(from, to)
  local first, last = time.parse(from), time.parse(to)
  if last < first then error("fake.date(from, to): " .. to .. " is before " .. from, 2) end
  return time.format("%Y-%m-%d", first + random.int(0, (last - first) // 86400 | 0) * 86400)
end

---Returns sentences of made-up words.
---@param n? integer # how many sentences (default: 1)
---@return string
function fake.text(n)
  local sentences = {}
  for place = 1, n or 1 do
    local words = random.words(random.int(4, 12))
    sentences[place] = words:sub(1, 1):upper() .. words:sub(2) .. "."
  end
  return table.concat(sentences, " ")
end

return fake
