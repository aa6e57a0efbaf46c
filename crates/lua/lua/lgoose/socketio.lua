---Socket.IO 4 (Engine.IO 4 over a WebSocket): events both ways, acknowledgements, binary data, namespaces.
---
---    local socketio = require "lgoose.socketio"
---    local socket = socketio.connect(user, { namespace = "/chat", auth = { token = "secret" } })
---    socket:emit("typing", true)
---    local members = socket:request("join", "lobby")
---    local from, text = socket:receive("said", 5)
---    socket:disconnect()
---
---The WebSocket is the row `WS socket.io`; the login to the namespace is the row `SIO connect`, each request is the row `SIO event`. The pings
---of the server are answered whenever the user waits for anything.
---
---Arguments are values of JSON, with `json.null` for null; `socketio.binary(bytes)` sends bytes, which arrive as a string.
---@class lgoose.socketio
local socketio = {}

---@class lgoose.socketio.Options
---@field path? string # (default: "/socket.io/"); `ws://` and `wss://` name other hosts
---@field namespace? string # (default: "/")
---@field auth? table<string, any> # what the server finds in `socket.handshake.auth`
---@field query? table<string, any> # added to the URL
---@field headers? table<string, string|number|boolean>
---@field name? string # the row of the WebSocket (default: "socket.io")
---@field timeout? lgoose.Duration # of the connection, and of each acknowledgement and event (default: the plan's timeout)
---@field max_buffer? integer # the most bytes of a message, or of all binary data of an event (default: 1 MiB)
---@field max_events? integer # the most events of a name that wait for `receive` (default: 1000)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection to a namespace.
---@class lgoose.socketio.Socket
---@field ok boolean # whether it is connected
---@field error? string # why it is not
---@field id? string # the ID that the server has given it
---@field refusal? table # the error of a server that has refused it: { message = …, data = … }
---@field emit fun(self: lgoose.socketio.Socket, event: string, ...: any): true?, string? # sends an event; nil and the reason if it is not connected
---@field request fun(self: lgoose.socketio.Socket, event: string|lgoose.socketio.Request, ...: any): ... # sends an event, and returns what the server acknowledges it with (true if that is nothing), or nil and the reason
---@field receive fun(self: lgoose.socketio.Socket, event: string, timeout?: lgoose.Duration): ... # waits for the next event of this name, and returns its arguments (true if it has none), or nil and the reason; a function that acknowledges the event follows if the server wants that
---@field on fun(self: lgoose.socketio.Socket, event: string, fn?: fun(...: any): ...) # calls a function for each event of this name whenever the user waits; what it returns is the acknowledgement. "disconnect" stands for the end of the connection, which is no failure then
---@field namespace fun(self: lgoose.socketio.Socket, name: string, options?: lgoose.socketio.NamespaceOptions): lgoose.socketio.Socket # connects to a further namespace over the same WebSocket
---@field disconnect fun(self: lgoose.socketio.Socket) # leaves the namespace, and closes the WebSocket if that was the last

---An event, its arguments and how it is sent: { "say", "hello", name = "say hello", timeout = "2s" }.
---@class lgoose.socketio.Request
---@field [integer] any # the event, and its arguments
---@field name? string # the row `SIO name` (default: the event)
---@field timeout? lgoose.Duration # for the acknowledgement

---@class lgoose.socketio.NamespaceOptions
---@field auth? table<string, any>
---@field timeout? lgoose.Duration

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

-- What marks bytes, and whether a plan has made some: only then, values are searched for them.
core.binary_meta = { __name = "binary data" }
core.has_binary = false

---Marks a string as bytes: it is sent as binary data, and arrives as a Buffer.
---@param bytes string
---@return table
function socketio.binary(bytes)
  if type(bytes) ~= "string" then error("socketio.binary takes a string", 2) end
  core.has_binary = true
  return setmetatable({ bytes }, core.binary_meta)
end

---Connects to a server.
---@param user lgoose.User
---@param options? lgoose.socketio.Options
---@return lgoose.socketio.Socket
function socketio.connect(user, options) return core.load "connect"(user, options) end

return socketio
