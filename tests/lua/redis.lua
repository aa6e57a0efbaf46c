-- Redis: commands, replies of all kinds, pipelines, what is published, and what goes wrong. Run against a real server.

local test = require "test"
local same, raises = test.same, test.raises
local redis = require "lgoose.redis"

-- Returns a value as text that is the same for the same value.
local function shown(value)
  if type(value) ~= "table" or value == json.null then return value == json.null and "null" or tostring(value) end
  local parts = {}
  for key, part in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. shown(part) end
  table.sort(parts)
  return "{" .. table.concat(parts, " ") .. "}"
end

local function connected(user, options)
  local db = redis.connect(user, options)
  same(db.ok, true, db.error)
  return db
end

for _, protocol in ipairs { 3, 2 } do
  task { "commands over protocol " .. protocol, sequence = protocol, function(user)
    local three = protocol == 3
    local db = connected(user, { protocol = protocol, name = "RESP" .. protocol })
    same(db.protocol, protocol, "as asked")
    same(db.server.server, three and "redis" or nil, "what it says of itself")
    same(db:flushall(), "OK", "a simple string")
    same(db:set("key", "a\r\nb\0"), "OK", "set")
    same(db:get "key", "a\r\nb\0", "any bytes")
    same(db:get "none", nil, "no value")
    same(db.error, nil, "no error")
    same(db:call("set", "empty", ""), "OK", "nothing")
    same(db:call("GET", "empty"), "", "is no null")
    same(db:incr "count", 1, "an integer")
    same(db:incrby("count", 9007199254740993), 9007199254740994, "a large one")
    same(db:set("half", 0.5), "OK", "a number")
    same(db:get "half", "0.5", "is sent as text")
    same(shown(db:mget("half", "none", "empty")), "{1=0.5 2=null 3=}", "a list with a null")
    same(db:hset("hash", "a", 1, "b", "two"), 2, "fields")
    same(shown(db:hgetall "hash"), three and "{a=1 b=two}" or "{1=a 2=1 3=b 4=two}", "a map")
    db:sadd("set", "one")
    same(shown(db:smembers "set"), "{1=one}", "a set")
    db:zadd("scores", 1.5, "x")
    same(db:zscore("scores", "x"), three and 1.5 or "1.5", "a double")
    db:zadd("scores", "-inf", "y")
    same(db:zscore("scores", "y"), three and -math.huge or "-inf", "an infinite one")
    if three then
      same(db:call("DEBUG", "PROTOCOL", "attrib"), "Some real reply following the attribute", "attributes are let go")
      same(db:call("DEBUG", "PROTOCOL", "bignum"), "1234567999999999999999999999999999999", "a big number")
    end
    local value, problem = db:incr "hash"
    same(value, nil, "an error")
    same(problem, "WRONGTYPE Operation against a key holding the wrong kind of value", "says why")
    same(db.ok, true, "and harms nothing")
    local long = ("x"):rep(1000000)
    db:set("long", long)
    same(db:get "long", long, "a long one")
    local list = {}
    for n = 1, 5000 do list[n] = { "RPUSH", "list", n } end
    same(shown(db:pipeline(list)[5000]), "5000", "many at once")
    local all = db:lrange("list", 0, -1)
    same(#all, 5000, "a long list")
    same(all[5000], "5000", "in order")
    local replies = db:pipeline({ { "SET", "a", 1 }, { "INCR", "a" }, { "GET", "none" } }, { name = "three" })
    same(shown(replies), "{1=OK 2=2 3=null}", "one reply for each")
    same(select(2, db:pipeline { { "INCR", "hash" }, { "GET", "a" } }), problem, "an error among them")
    same(db:get "a", "2", "the rest was read")
    db:multi()
    same(db:set("b", 1), "QUEUED", "later")
    db:incr "hash"
    same(shown(db:exec()), "{1=OK 2={error=" .. problem .. "}}", "errors within a list")
    same(shown(db:call("EVAL", "return { 1, { 'two', { 3 } } }", 0)), "{1=1 2={1=two 2={1=3}}}", "nested")
    local feed = connected(user, { protocol = protocol, name = "feed" })
    same(shown(feed:subscribe("news", "more")), "{1=subscribe 2=more 3=2}", "what was subscribed last")
    same(db:publish("news", "hello"), 1, "one listens")
    same(db:publish("more", "again"), 1, "one listens")
    same(shown(feed:pushed(5)), "{1=message 2=news 3=hello}", "a message")
    if three then same(feed:ping(), "PONG", "a reply is told from what is pushed") end
    same(shown(feed:pushed(5)), "{1=message 2=more 3=again}", "kept apart")
    same(select(2, feed:pushed "20ms"), "timeout", "nothing more")
    same(shown(feed:unsubscribe "news"), "{1=unsubscribe 2=news 3=1}", "no longer")
    feed:close()
    same(select(2, feed:ping()), "closed early: the plan has closed the connection", "closed")
    db:close()
  end }
end

task { "who the user is", sequence = 4, function(user)
  local db = connected(user, { name = "admin" })
  db:call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all")
  same(connected(user, { user = "ann", password = "secret", db = 2 }):call("ACL", "WHOAMI"), "ann", "ann")
  same(connected(user, { user = "ann", password = "secret", protocol = 2 }):call("ACL", "WHOAMI"), "ann", "with AUTH")
  for _, protocol in ipairs { 2, 3 } do
    local wrong = redis.connect(user, { user = "ann", password = "wrong", protocol = protocol, name = "wrong" })
    same(wrong.ok, false, "somebody else")
    same(wrong.error, "WRONGPASS invalid username-password pair or user is disabled.", "says so")
    same(select(2, wrong:get "a"), wrong.error, "every command says it")
  end
  same(select(2, redis.connect(user, { address = "127.0.0.1:1", name = "nobody" }):get "a"), "connection refused: 127.0.0.1:1", "no server")
  same(select(2, connected(user, { timeout = "30ms" }):blpop("nothing", 5)), "timeout", "no reply in time")
  local small = connected(user, { max_buffer = 1000 })
  small:set("large", ("x"):rep(2000))
  same(select(2, small:get "large"), "too large: a string of a reply is larger than 'max_buffer'", "too large")
  same(small.ok, false, "where the next reply begins is not known")
end }

task { "mistakes", sequence = 5, function(user)
  local db = connected(user, { name = "mistakes" })
  raises("redis.connect takes the user", redis.connect)
  raises("unknown option 'adress'", redis.connect, user, { adress = "x" })
  raises("option 'protocol' is 2 or 3", redis.connect, user, { protocol = 4 })
  raises("option 'address' must be a string, not number", redis.connect, user, { address = 6379 })
  raises("option 'password' must be a string, not boolean", redis.connect, user, { password = false })
  raises("option 'db' is a whole number, at least 0, not one", redis.connect, user, { db = "one" })
  raises("option 'db' is a whole number, at least 0, not -1", redis.connect, user, { db = -1 })
  raises("option 'max_buffer' is a whole number, at least 1, not 1MiB", redis.connect, user, { max_buffer = "1MiB" })
  raises("db:call takes the name of a command", db.call, db, 7)
  raises("redis GET: argument 2 must be a string or a number, not table", db.call, db, "GET", {})
  raises("write db:get(…), with a colon", db.get, "key")
  raises("db:pipeline takes a list of commands", db.pipeline, db, { "GET", "a" })
  raises("redis SUBSCRIBE: name the channels", db.subscribe, db)
end }

-- Replies to two commands would be taken for one another's.
task { "one at a time", sequence = 6, function(user)
  local db = connected(user, { name = "shared" })
  local function wait_until_used()
    while not db.is_in_use do user:wait "5ms" end
  end
  local later = user:spawn(function() return db:blpop("later", 0) end)
  wait_until_used()
  local value, problem = db:get "a"
  same(value, nil, "another waits for a reply")
  same(problem:match "^in use: another function", "in use: another function", "says so")
  same(select(2, db:pushed "10ms"), problem, "what is published, too")
  same(connected(user, { name = "other" }):rpush("later", "x"), 1, "another connection")
  same(shown(later:join()), "{1=later 2=x}", "has its reply")
  same(db:get "a", "2", "then it is free")
  later = user:spawn(function() return db:blpop("later", 0) end)
  wait_until_used()
  later:cancel()
  same(select(2, db:get "a"), problem, "the reply to a command that was cancelled may still come")
  local feed = connected(user, { name = "feed" })
  feed:subscribe "news"
  same(select(2, feed:pushed "10ms"), "timeout", "nothing yet")
  feed:close()
end }
