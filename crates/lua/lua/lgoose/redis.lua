---Redis, Valkey and other servers that speak their protocol (RESP): commands, pipelines, published messages.
---
---    local redis = require "lgoose.redis"
---    local db = redis.connect(user, { address = "127.0.0.1:6379" })
---    db:set("key", "value")
---    local value = db:get "key"
---    db:call("EXPIRE", "key", 60)
---
---Each command is a request, in the row `REDIS GET`; the connection is the row `TCP redis`. Replies become Lua values:
---
---| | |
---|---|---|
---| simple, bulk and verbatim strings | a string |
---| integer | an integer |
---| double | a number |
---| big number | a string of digits |
---| boolean | true or false |
---| null | nil; within a list or a map `json.null` |
---| array, set | a list |
---| map | a table by key |
---| error | nil and its text: the request has failed; within a list or a map { error = text } |
---
---It uses RESP3 where the server supports it (`HELLO 3`), else RESP2, in which maps and sets arrive as lists, doubles as strings and
---booleans as integers.
---@class lgoose.redis
local redis = {}

---@class lgoose.redis.Options
---@field address? string # host:port (default: the host of the user, and its port)
---@field name? string # the row of the connection (default: "redis")
---@field tls? boolean # (default: false)
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)
---@field user? string # for AUTH (default: the server's default user)
---@field password? string # for AUTH
---@field db? integer # the number of the database (default: 0)
---@field protocol? 2|3 # (default: 3, or 2 where the server does not support it)
---@field timeout? lgoose.Duration # for each reply (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a string in a reply (default: 1 MiB)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection.
---@class lgoose.redis.Connection
---@field ok boolean # whether it is open, and the server has accepted the login
---@field error? string # why it is not ok
---@field protocol integer # 3, or 2
---@field server table<string, any> # the server's description of itself; empty with protocol 2
---@field call fun(self: lgoose.redis.Connection, command: string, ...: string|number): any, string? # sends a command, and returns its reply, or nil and the reason for the failure
---@field pipeline fun(self: lgoose.redis.Connection, commands: (string|number)[][], options?: lgoose.redis.PipelineOptions): any[]?, string? # sends all commands at once, and returns a list of their replies: one request, which fails if any of them does
---@field pushed fun(self: lgoose.redis.Connection, timeout?: lgoose.Duration): any[]?, string? # waits for a published message: { "message", channel, text }
---@field close fun(self: lgoose.redis.Connection)
---@field [string] fun(self: lgoose.redis.Connection, ...: string|number): any, string? # any other command is a method by its name in lower case: db:hset("key", "field", 1)

---@class lgoose.redis.PipelineOptions
---@field name? string # the row `REDIS name` (default: "pipeline")

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.redis.Options
---@return lgoose.redis.Connection
function redis.connect(user, options) return core.load "connect"(user, options) end

return redis
