---@meta
-- gRPC: schemas, and calls.

---Schemas of gRPC.
---@class lgoose.grpc
grpc = {}

---Compiles `.proto` files beside the plan, with all that they import, once for all users. Belongs at the top level of the plan.
---@param what string|lgoose.GrpcLoad
---@return string[] methods # the names of their methods: "package.Service/Method"
function grpc.load(what) end

---Has methods that no loaded schema has looked up by the server's reflection service, at the first call, once for all users.
function grpc.reflect() end

---What `grpc.load` takes.
---@class lgoose.GrpcLoad
---@field [integer] string # the files, as an import names them
---@field paths? string[] # the folders below the plan's that files and imports are looked for in (default: { "." })

---A call of gRPC. That of `user:grpc` has ended; that of `user:grpc_stream` goes on until its status has come, it is closed, or its
---user ends. A user may have 100 calls, streams and sockets open.
---@class lgoose.Call
---@field ok boolean # whether it counts as a success; final after the end
---@field error string? # why it counts as failed; final after the end
---@field status string? # the name of its status, such as "OK" or "NOT_FOUND", once it has ended
---@field code integer? # the number of that
---@field details string? # what the server says of its status, or why there is none of its own
---@field message any # the response, as a table of its fields; of a call with streams the one taken last
---@field metadata table<string, string> # what came before the response; names are case-insensitive, and those with '-bin' have bytes
---@field trailers table<string, string> # what came after it
local Call = {}

---Sends a message. Waits where the connection takes no more.
---@param message table
---@param options? lgoose.CallSendOptions
---@return boolean # false if nothing can be sent any more
function Call:send(message, options) end

---Waits for the next message.
---@param options? lgoose.CallOptions
---@return any # nil if none came in time, or the call has ended
function Call:receive(options) end

---Reads messages, one at each turn of a loop, until none comes in time or the call has ended.
---@param options? lgoose.CallOptions
---@return fun(): any
function Call:messages(options) end

---Says that nothing more will be sent. A method that takes one message has this said after it.
function Call:close_send() end

---Cancels the call, unless it has ended. One that its own plan has cancelled has not failed.
function Call:close() end

---@class lgoose.CallOptions
---@field timeout? lgoose.Duration # for how long to wait (default: the plan's timeout, 60)

---@class lgoose.CallSendOptions
---@field compress? boolean # false sends it as it is, in a call with `compression` (default: true)

---Options of a call.
---@class lgoose.GrpcOptions
---@field name? string # the row (default: the name of the method)
---@field metadata? table<string, string|number|boolean|string[]> # headers of the call; names with '-bin' take any bytes
---@field timeout? lgoose.Duration # the deadline, which the server learns, too (default: the plan's timeout for user:grpc, none for streams)
---@field expect? lgoose.GrpcExpect
---@field tags? table<string, string|number|boolean|string[]> # besides those of the task
---@field compression? "gzip"|"identity" # of what is sent (default: "identity")
---@field count? boolean # false: in no figure and no log (default: true)
---@field max_buffer? integer # the longest message in bytes, and of streams the most that may wait for the plan (default: 4 MiB for user:grpc, 1 MiB for streams)
---@field web? boolean # by gRPC-Web, over HTTP/1.1 or HTTP/2 (default: false)
---@field message? table # of user:grpc_stream by gRPC-Web: what is sent, as there are only streams of the server

---What is expected of a call.
---@class lgoose.GrpcExpect
---@field status? string|integer|(string|integer)[] # the statuses that count as success (default: "OK")
