-- Shows GraphQL over a WebSocket: each user subscribes to what is said, says something, and measures how soon it hears that.

local graphql_ws = require "lgoose.graphql_ws"

plan {
  host = "http://127.0.0.1:4000",
  users = 5,
  run_time = "10s",
  thresholds = { ["GQL Say"] = "p95 < 200ms", ["PUSH heard"] = "p95 < 200ms" },
}

task { "subscribe", on_start = true, function(user)
  local client = graphql_ws.connect(user, { path = "/graphql", payload = { authorization = env("TOKEN", "") }, timeout = "5s" })
  user.data.client = client
  user.data.said = client:subscribe "subscription Said { said }"
end }

task { "say", wait = { 0.5, 1 }, function(user)
  local client, said, text = user.data.client, user.data.said, user.id .. " says " .. random.words(3)
  if not client.ok then user:stop() end
  local start = run.elapsed()
  client:query("mutation Say($text: String!) { say(text: $text) }", { text = text })
  -- What the others say comes, too.
  local data
  repeat
    data = said:next()
  until not data or data.said == text
  if data then user:record { kind = "PUSH", name = "heard", time = run.elapsed() - start } end
end }

task { "leave", on_stop = true, function(user) user.data.client:close() end }

-- lgoose examples/subscriptions.lua -H http://127.0.0.1:4000
