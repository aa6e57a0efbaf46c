---GraphQL over a WebSocket with the protocol `graphql-transport-ws`, as of the package graphql-ws: queries, mutations, subscriptions.
---
---    local graphql_ws = require "lgoose.graphql_ws"
---    local client = graphql_ws.connect(user, { path = "/graphql", payload = { authorization = "Bearer secret" } })
---    local data = client:query("query Orders($n: Int!) { orders(n: $n) { id } }", { n = 5 })
---    local subscription = client:subscribe "subscription { orders { id } }"
---    local order = subscription:next(5)
---    subscription:stop()
---    client:close()
---
---The WebSocket is the row `WS graphql`; the login is the row `GQL connect`. A query is the row `GQL Orders`, by the name of its operation or the
---option `name`; it fails if its result has errors. A subscription counts as a request, too: its latency is the time until its first message.
---@class lgoose.graphql_ws
local graphql_ws = {}

---@class lgoose.graphql_ws.Options
---@field path? string # (default: "/graphql"); `ws://` and `wss://` name other hosts
---@field payload? table<string, any> # what the server finds in `connectionParams`
---@field query? table<string, any> # added to the URL
---@field headers? table<string, string|number|boolean>
---@field name? string # the row of the WebSocket (default: "graphql")
---@field timeout? lgoose.Duration # of the connection, and of each query and message (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a message (default: 1 MiB)
---@field max_messages? integer # the most messages of a subscription that wait for `next` (default: 1000)
---@field tags? table<string, string|number|boolean> # of all its rows

---@class lgoose.graphql_ws.QueryOptions
---@field name? string # the row `GQL name` (default: the name of the operation, or else its type)
---@field operation? string # which operation of several to execute
---@field timeout? lgoose.Duration

---@class lgoose.graphql_ws.Client
---@field ok boolean # whether it is connected
---@field error? string # why it is not
---@field payload? table # what the server has sent with its acknowledgement
---@field query fun(self: lgoose.graphql_ws.Client, text: string, variables?: table<string, any>, options?: lgoose.graphql_ws.QueryOptions): any, string?, table? # executes a query or a mutation, and returns its data, or nil, the first message of its errors and the whole result
---@field subscribe fun(self: lgoose.graphql_ws.Client, text: string, variables?: table<string, any>, options?: lgoose.graphql_ws.QueryOptions): lgoose.graphql_ws.Subscription # starts a subscription
---@field ping fun(self: lgoose.graphql_ws.Client, timeout?: lgoose.Duration): true?, string? # sends a ping, and waits for the pong: the row `GQL ping`
---@field close fun(self: lgoose.graphql_ws.Client)

---@class lgoose.graphql_ws.Subscription
---@field ok boolean # whether it goes on
---@field error? string # why it does not: "complete" if the server has no more messages
---@field next fun(self: lgoose.graphql_ws.Subscription, timeout?: lgoose.Duration): any, string?, table? # waits for the next message and returns its data, or nil, the reason and, where it has errors, the whole result
---@field stop fun(self: lgoose.graphql_ws.Subscription)

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

---Connects to a server.
---@param user lgoose.User
---@param options? lgoose.graphql_ws.Options
---@return lgoose.graphql_ws.Client
function graphql_ws.connect(user, options) return core.load "connect"(user, options) end

return graphql_ws
