-- Twenty innocent users beside two that compute without end: for a while in a plain loop, then with a function whose work grows
-- with its argument, and so on for all of them. The requests of the innocent users are counted by what the two do meanwhile.

local ONLY = env("ONLY", "")
local SECONDS = env.number("SECONDS", 0.4)

local text = ("some words, and 'others' "):rep(4000)
local list = {}
for n = 1, 2000 do list[n] = { name = "name " .. n, values = { n, n + 1, n / 3 } } end
local document = json.encode(list)
local rows = {}
for n = 1, 2000 do rows[n] = "<row id='" .. n .. "'><name class='x'>word " .. n .. "</name></row>" end
local page = "<table>" .. table.concat(rows) .. "</table>"
local deep = "x"
for _ = 1, 90 do deep = { deep } end
local parsed = html.parse(page)
local tree = xml.parse(page)
local words = regex [[(\w+) (\w+)]]
local number = 0

local heavy = {
  ["base64.decode"] = function() local coded = base64.encode(text) base64.decode(coded) end,
  ["cancelled jobs"] = function(user) user:spawn(function() end):cancel() end,
  ["a hundred jobs"] = function(user)
    for _ = 1, 90 do user:spawn(function() for _ = 1, 1e5 do end end) end
    user:wait(0)
  end,
  ["coroutines"] = function() for _ = 1, 100 do coroutine.wrap(function() for _ = 1, 100 do coroutine.yield() end end)() end end,
  ["hash.hmac_sha256"] = function() hash.hmac_sha256("key", text) end,
  ["hash.pbkdf2"] = function() hash.pbkdf2("key", "salt", 4096) end,
  ["hash.sha256"] = function() hash.sha256(text) end,
  ["hex.encode"] = function() hex.encode(text) end,
  ["html.parse"] = function() html.parse(page) end,
  ["json.copy"] = function() json.copy(list) end,
  ["json.decode"] = function() json.decode(document) end,
  ["json.decode of texts"] = function() json.decode('["' .. ("abcdefgh"):rep(400, '","') .. '"]') end,
  ["json.encode"] = function() json.encode(list) end,
  ["json.encode of a deep table"] = function() json.encode(deep) end,
  ["json.get"] = function() json.get(list, "[*].name") end,
  ["page:css"] = function() parsed:css("row > name.x") end,
  ["random.shuffle"] = function() random.shuffle(list) end,
  ["regex"] = function()
    number = number + 1
    regex("a(b|c){2,9}[d-f]+ " .. number)
  end,
  ["regex:matches"] = function() words:matches(text) end,
  ["regex:replace"] = function() words:replace(text, "$2 $1") end,
  ["short turns"] = function(user)
    for _ = 1, 1e5 do end
    user:wait(0)
  end,
  ["string.format"] = function() for _ = 1, 100 do ("%s %d %q"):format(text:sub(1, 2000), 7, "x") end end,
  ["string.gsub"] = function() text:gsub("%w+", function(word) return word end) end,
  ["string.rep"] = function() text:rep(10) end,
  ["string.upper"] = function() text:upper() end,
  ["table.concat"] = function() table.concat(rows) end,
  ["table.sort"] = function()
    local copy = table.move(rows, 1, #rows, 1, {})
    table.sort(copy, function(a, b) return a > b end)
  end,
  ["table.unpack"] = function() select("#", table.unpack(rows)) end,
  ["url.encode"] = function() url.encode(text) end,
  ["utf8.len"] = function() utf8.len(text) end,
  ["xml.parse"] = function() xml.parse(page) end,
  ["xml:css"] = function() tree:css("name") end,
}

local names = {}
for name in pairs(heavy) do
  if ONLY == "" or ONLY == name then names[#names + 1] = name end
end
table.sort(names)

plan { host = "demo:umami", run_time = 2 * SECONDS * #names + 2 }

-- What the two do now: a place in the names, and whether it is the plain loop. Each has a while, and the first begins once all users are there.
local function now()
  if run.elapsed() < 2 then return end
  local slot = math.floor((run.elapsed() - 2) / SECONDS)
  return names[slot // 2 + 1], slot % 2 == 0
end

local function loop() for _ = 1, 1e4 do end end

scenario { "heavy", users = 2, task { "computes", function(user)
  local name, is_plain = now()
  if not name then return user:wait(SECONDS / 10) end
  local work = is_plain and loop or heavy[name]
  local other, still
  repeat
    work(user)
    other, still = now()
  until other ~= name or still ~= is_plain
end } }

local requests = metric.counter "requests"
scenario { "innocent", users = 20, task { "page", function(user)
  local name, is_plain = now()
  user:get("/", { name = "innocent" })
  if name then requests:add(1, { beside = name, plain = is_plain }) end
  user:wait(0.02)
end } }
