---PostgreSQL and other servers that speak its protocol (version 3): queries, transactions, notifications.
---
---    local postgres = require "lgoose.postgres"
---    local db = postgres.connect(user, { address = "127.0.0.1:5432", user = "ann", password = env "PASSWORD", database = "shop" })
---    local rows = db:query("select name, price from items where id = $1", { 7 }, { name = "item by id" })
---    local name = rows[1].name
---
---Each query is a request, in the row `SQL name`; without a name, in that of its first word, such as `SQL SELECT`. The connection is the
---row `TCP postgres`; `SQL connect` is the login, with TLS.
---
---With parameters (also an empty list), a query is prepared once per connection and then executed. Without, it is a simple query, which may
---have several statements. Values of columns become Lua values:
---
---| | |
---|---|---|
---| smallint, integer, bigint, oid | an integer |
---| real, double precision | a number |
---| boolean | true or false |
---| bytea | a string of its bytes |
---| null | nil: the column is missing from the row |
---| anything else: text, numeric, json, arrays, times … | a string, as the server writes it |
---@class lgoose.postgres
local postgres = {}

---@class lgoose.postgres.Options
---@field address? string # host:port (default: the host of the user, and its port)
---@field name? string # the row of the connection (default: "postgres")
---@field database? string # (default: the name of the database user)
---@field user? string # the database user (default: "postgres")
---@field password? string # for the methods trust, password, md5 and scram-sha-256
---@field tls? boolean|"prefer" # "prefer": only if the server supports it (default: false)
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)
---@field application_name? string # (default: "lgoose")
---@field parameters? table<string, string|number> # settings of the session, such as { search_path = "shop" }
---@field statements? integer # the most statements that are kept prepared; 0 prepares each anew, as some poolers require (default: 100)
---@field timeout? lgoose.Duration # for the login and for each query (default: the plan's timeout, for each wait)
---@field max_buffer? integer # the most bytes of a message of the server, such as a row (default: 1 MiB)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection.
---@class lgoose.postgres.Connection
---@field ok boolean # whether it is open, and the server has accepted the login
---@field error? string # why it is not ok
---@field last_error? lgoose.postgres.Error # the last error of the server
---@field status "idle"|"open"|"failed" # whether a transaction is open, or a statement in it has failed
---@field process? integer # the process of the server, as pg_backend_pid() returns it
---@field server table<string, string> # settings that the server reports, such as server_version
---@field query fun(self: lgoose.postgres.Connection, sql: string, parameters?: any[], options?: lgoose.postgres.QueryOptions): lgoose.postgres.Result?, string?, lgoose.postgres.Error? # sends a query, and returns its rows, or nil, the reason for the failure and, if it comes from the server, its parts
---@field transaction fun(self: lgoose.postgres.Connection, fn: (fun(db: lgoose.postgres.Connection): ...), options?: lgoose.postgres.TransactionOptions): any, string? # calls the function between BEGIN and COMMIT, and returns what it returns, or true; if it raises an error or returns nil and a reason, or if a query in it has failed, ROLLBACK follows instead
---@field notified fun(self: lgoose.postgres.Connection, timeout?: lgoose.Duration): lgoose.postgres.Notification?, string? # waits for a notification of a channel that the session listens to
---@field close fun(self: lgoose.postgres.Connection)

---@class lgoose.postgres.QueryOptions
---@field name? string # the row `SQL name` (default: the first word of the query)
---@field timeout? lgoose.Duration # in place of that of the connection

---@class lgoose.postgres.TransactionOptions
---@field name? string # measure it as a transaction of that name, as user:transaction does
---@field begin? string # (default: "BEGIN")

---A list of rows, each a table by the name of the column. Of columns with the same name, the last one counts.
---@class lgoose.postgres.Result
---@field [integer] table<string, any>
---@field command string # what was done, such as "SELECT" or "CREATE TABLE"
---@field count integer # the number of rows that were returned, inserted, changed or deleted
---@field columns string[] # the names of the columns, in order
---@field results? lgoose.postgres.Result[] # the results of all statements of the query, if it has several; the last one is this

---An error of the server.
---@class lgoose.postgres.Error
---@field code string # SQLSTATE, such as "23505"
---@field message string
---@field severity string # "ERROR", "FATAL" or "PANIC"
---@field detail? string
---@field hint? string
---@field position? string # of the character in the query at which it was noticed
---@field where? string
---@field schema? string
---@field table? string
---@field column? string
---@field constraint? string

---@class lgoose.postgres.Notification
---@field channel string
---@field payload string
---@field process integer # the process of the server that has sent it

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

-- Returns the duration of an option 'timeout' in seconds.
function core.seconds(owner, duration, level)
  local is_valid, rule = pcall(wait.constant, duration)
  if not is_valid then error(owner .. ": option 'timeout' is a number of seconds, or a text such as '500ms'", level + 1) end
  return rule[1]
end

core.meta = {
  __name = "postgres connection",
  __index = function(_, name)
    if name == "query" then return core.keep("query").query end
    if name == "transaction" or name == "notified" then return core.keep(name) end
    if name == "close" then return core.load "close" end
  end,
}

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.postgres.Options
---@return lgoose.postgres.Connection
function postgres.connect(user, options) return core.load "connect"(user, options) end

---Returns a parameter for a column of type bytea.
---@param bytes string
---@return string
function postgres.bytes(bytes) return "\\x" .. hex.encode(bytes) end

return postgres
