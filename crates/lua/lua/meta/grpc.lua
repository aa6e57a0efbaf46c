---@meta
-- gRPC: schemas, and calls.

---Schemas of gRPC.
---@class lgoose.grpc
grpc = {}

---Compiles `.proto` files next to the plan, with all files that they import, once for all users. Call it at the top level of the plan.
---@param files string|lgoose.GrpcLoad
---@return string[] methods # the names of their methods: "package.Service/Method"
function grpc.load(files) end

---Enables server reflection: a method that no loaded schema has is looked up on its server at the first call, once for all users.
function grpc.reflect() end

---Encodes a message of Protocol Buffers, for any protocol: `user:post("/items", grpc.encode("shop.Item", { name = "tea" }))`. Its type is from
---a file of `grpc.load`, from a server that was called with `grpc.reflect`, or one of `google.protobuf`. Values are those of calls.
---@param type string # with its package: "shop.Item"
---@param value any # a table of the fields; what such a type has in calls, for a well-known one
---@return string
function grpc.encode(type, value) end

---Decodes a message of Protocol Buffers. Raises an error for bytes that are no such message. Fields that the type lacks are skipped.
---@param type string
---@param bytes string
---@return any
function grpc.decode(type, bytes) end

---The files to compile by `grpc.load`.
---@class lgoose.GrpcLoad
---@field [integer] string # the files, as imports name them
---@field paths? string[] # the folders in which files and imports are searched, at or below the plan's (default: { "." })

---A gRPC call. A call by `user:grpc` has ended; one by `user:grpc_stream` continues until its status has arrived, it is closed, or its
---user ends. A user may have 100 calls, streams and sockets open.
---@class lgoose.Call
---@field ok boolean # whether the call counts as a success; final after its end
---@field error string? # why the call counts as failed; final after its end
---@field status string? # the name of its status, such as "OK" or "NOT_FOUND", after its end
---@field code integer? # the number of its status
---@field details string? # the server's message for its status, or why the server sent no status
---@field error_details table[] # the details that the server has sent with its status, as messages with their type in `["@type"]`
---@field message any # the response, as a table of its fields; with streams, the latest message received
---@field metadata table<string, string> # the response's initial metadata; names are case-insensitive, and those with '-bin' have bytes
---@field trailers table<string, string> # the response's trailing metadata
local Call = {}

---Sends a message. Waits while the connection cannot take more.
---@param message table|string # its fields, or its text in JSON
---@param options? lgoose.CallSendOptions
---@return boolean # false if nothing can be sent any more
function Call:send(message, options) end

---Waits for the next message.
---@param options? lgoose.CallOptions
---@return any # nil if none arrived in time, or the call has ended
function Call:receive(options) end

---Iterates over the messages until none arrives in time or the call has ended.
---@param options? lgoose.CallOptions
---@return fun(): any
function Call:messages(options) end

---Ends the stream of sent messages. For a method that takes one message, it ends after that message by itself.
function Call:close_send() end

---Cancels the call, unless it has ended. A call cancelled by the plan does not count as failed.
function Call:close() end

---@class lgoose.CallOptions
---@field timeout? lgoose.Duration # how long to wait (default: the plan's timeout, 60)
---@field deadline? lgoose.Duration # how long the call lasts at most, or, with `messages`, the whole loop, whatever arrives (default: no limit)

---@class lgoose.CallSendOptions
---@field compress? boolean # false sends this message uncompressed, in a call with `compression` (default: true)

---Options of a call.
---@class lgoose.GrpcOptions
---@field name? string # the row (default: the name of the method)
---@field metadata? table<string, string|number|boolean|string[]> # headers of the call; names with '-bin' take any bytes
---@field timeout? lgoose.Duration # the deadline, which is also sent to the server (default: the plan's timeout for user:grpc, none for streams)
---@field expect? lgoose.GrpcExpect
---@field tags? table<string, string|number|boolean|string[]> # in addition to those of the task
---@field compression? "gzip"|"identity" # of the messages sent (default: "identity")
---@field count? boolean # false: leave it out of all figures and logs (default: true)
---@field max_buffer? integer # the longest message in bytes; with streams, the most bytes that may wait for the plan (default: 4 MiB for user:grpc, 1 MiB for streams)
---@field web? boolean # use gRPC-Web, over HTTP/1.1 or HTTP/2 (default: false)
---@field protocol? "grpc"|"connect" # use Connect, as a POST over HTTP/1.1 or HTTP/2, for a method without streams (default: "grpc")
---@field connection? "user"|"own"|"shared" # "user": that of the user's calls to the host; "own": a new one, closed after the call; "shared": one for all users of a thread (default: "user")
---@field message? table # with user:grpc_stream over gRPC-Web: the message to send, as only servers can stream there

---Expectations about a call.
---@class lgoose.GrpcExpect
---@field status? string|integer|(string|integer)[] # the statuses that count as success (default: "OK")
