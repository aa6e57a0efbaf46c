-- GraphQL over a WebSocket: queries, subscriptions, several of them over one connection, and what goes wrong. Run against a real server.

local test = require "test"
local same, raises = test.same, test.raises
local graphql_ws = require "lgoose.graphql_ws"

local function connected(user, options)
  local client = graphql_ws.connect(user, options)
  same(client.ok, true, client.error or "connected")
  return client
end

task { "queries", sequence = 1, function(user)
  -- The server pings meanwhile.
  local client = connected(user, { payload = { authorization = "me" }, query = { ping = 1 }, name = "queries" })
  same(client.payload.welcome, "me", "what the server says")
  same(client:query("{ hello }").hello, "hello you", "a query")
  same(client:query("query Named($name: String) { hello(name: $name) }", { name = "Ann" }).hello, "hello Ann", "with variables")
  same(client:query("query A { hello } query B { sum(values: [1, 2]) }", nil, { operation = "B" }).sum, 3, "one of two")
  local data, problem, result = client:query("{ fail }", nil, { name = "fails" })
  same(data, nil, "no data")
  same(problem, "it failed", "the message")
  same(result.data.fail, json.null, "the whole result")
  data, problem, result = client:query("{ half { good bad } }", nil, { name = "fails" })
  same(data, nil, "no data")
  same(problem, "half of it failed", "the message")
  same(result.data.half.good, 1, "what there is")
  same(select(2, client:query("{ nothing }", nil, { name = "fails" })), 'Cannot query field "nothing" on type "Query".', "refused")
  same(select(2, client:query("{ slow(ms: 300) }", nil, { name = "late", timeout = "50ms" })), "timeout", "too late")
  same(client:query("{ slow(ms: 50) }").slow, "at last", "in time")
  same(client:ping(), true, "a ping")
  client:close()
  same(client.ok, false, "closed")
  same(select(2, client:query("{ hello }", nil, { name = "fails" })), "closed early: the plan has closed the connection", "closed")
end }

task { "subscriptions", sequence = 2, function(user)
  local client = connected(user, { name = "subscriptions" })
  local all = {}
  for n = 1, 20 do
    all[n] = client:subscribe("subscription Count($to: Int!) { count(to: $to, ms: 1) }", { to = n })
  end
  local said = client:subscribe("subscription { said }", nil, { name = "said" })
  same(client:query("mutation Say { say(text: \"hello\") }").say, 1, "one listens")
  for n = 20, 1, -1 do
    for count = 1, n do
      same(all[n]:next(5).count, count, "in order")
    end
    same(select(2, all[n]:next(5)), "complete", "complete")
    same(all[n].ok, false, "over")
  end
  same(said:next(5).said, "hello", "what was said")
  same(select(2, said:next(0.05)), "timeout", "no more")
  local heard = user:spawn(function() return said:next(5) end)
  local other = user:spawn(function() return said:next(5) end)
  user:wait(0.02)
  client:query "mutation Say { say(text: \"one\") }"
  client:query "mutation Say { say(text: \"two\") }"
  local both = { heard:join().said, other:join().said }
  table.sort(both)
  same(table.concat(both, " "), "one two", "each gets one")
  said:stop()
  same(said.error, "stopped", "stopped")
  same(select(2, said:next()), "stopped", "stopped")
  -- Nobody listens any longer, soon.
  while client:query("mutation { say(text: \"hello\") }", nil, { name = "stopped" }).say > 0 do
    user:wait(0.02)
  end
  local broken = client:subscribe("subscription { broken }", nil, { name = "broken" })
  same(broken:next().broken, 1, "the first")
  same(select(2, broken:next()), "the source is broken", "its error")
  local refused = client:subscribe("subscription { nothing }", nil, { name = "refused" })
  same(select(2, refused:next()), 'Cannot query field "nothing" on type "Subscription".', "refused")
  local flood = client:subscribe("subscription { count(to: 1500) }", nil, { name = "flood" })
  while flood.ok do
    user:wait(0.02)
  end
  same(flood.error, "too many messages: 1000 wait for subscription:next", "too many")
  same(flood:next().count, 1, "those before it are there")
  client:close()
end }

task { "side by side", sequence = 3, function(user)
  local client = connected(user, { name = "beside" })
  local jobs = {}
  for n = 1, 20 do
    jobs[n] = user:spawn(function() return client:query("query Sum($all: [Int!]!) { sum(values: $all) }", { all = { n, n } }).sum end)
  end
  for n = 1, 20 do
    same(jobs[n]:join(), 2 * n, "each has its own")
  end
  client:close()
end }

task { "what is wrong", sequence = 4, function(user)
  raises("graphql_ws.connect takes the user", graphql_ws.connect, nil)
  raises("unknown option 'pyload'", graphql_ws.connect, user, { pyload = {} })
  raises("option 'payload' must be a table, not string", graphql_ws.connect, user, { payload = "a" })
  local client = connected(user, { name = "mistakes" })
  raises("client:query takes the text of an operation", client.query, client, {})
  raises("client:subscribe: the variables are a table", client.subscribe, client, "subscription { said }", 1)
  raises("client:query: unknown option 'nmae'", client.query, client, "{ hello }", nil, { nmae = "a" })
  client:close()
end }

task { "ends", sequence = 5, function(user)
  local refused = graphql_ws.connect(user, { payload = { authorization = "wrong" }, name = "refused" })
  same(refused.error, "closed with code 4403: forbidden", "refused")
  local nobody = graphql_ws.connect(user, { path = "ws://127.0.0.1:1/", name = "nobody" })
  same(nobody.error, "connection refused: 127.0.0.1:1", "no server")
  same(select(2, nobody:query("{ hello }", nil, { name = "nobody" })), nobody.error, "every call says it")
  local mistaken = connected(user, { name = "mistaken" })
  local problem = select(2, mistaken:query("{ hello", nil, { name = "closed" }))
  same(problem, "closed with code 4500: internal server error (Syntax Error: Expected Name, found <EOF>.)", "no query at all")
  for code, reason in pairs {
    [4400] = "closed with code 4400: invalid message (as asked)",
    [4401] = "closed with code 4401: unauthorized (as asked)",
    [4409] = "closed with code 4409: subscriber already exists (as asked)",
    [4429] = "closed with code 4429: too many initialisation requests (as asked)",
    [4321] = "closed early: the server closed the socket: 4321 'as asked'",
    [1000] = "closed early: the server has closed the connection",
  } do
    local client = connected(user, { query = { close = code }, name = "closed " .. code })
    local subscription = client:subscribe("subscription { said }", nil, { name = "closed" })
    same(select(2, client:query("{ slow(ms: 1000) }", nil, { name = "closed" })), reason, "the reason")
    same(client.error, reason, "the reason")
    same(select(2, subscription:next()), reason, "the reason")
  end
end }
