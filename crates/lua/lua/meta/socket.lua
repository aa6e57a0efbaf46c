---@meta
-- A WebSocket.

---A WebSocket, which lives until it is closed or its user ends, in `user.data` over tasks and iterations, too. What comes is kept until
---the plan takes it, up to `max_buffer`. A user may have 100 streams and sockets open.
---@class lgoose.Socket
---@field status integer # 101 if it was opened; 0 without a response
---@field headers table<string, string> # of the response; names are case-insensitive
---@field ok boolean # whether it was opened, and has not been closed by the server with another code than 1000; final after the end
---@field error string? # why it counts as failed; final after the end
---@field subprotocol string? # the one that the server has chosen
---@field close_code integer? # the code with which the server has closed it
---@field close_reason string? # the reason of that
local Socket = {}

---Sends a text, or a table as JSON. Waits where the connection takes no more.
---@param data string|table
---@return boolean # false if the socket is closed
function Socket:send(data) end

---Sends bytes.
---@param data string
---@return boolean # false if the socket is closed
function Socket:send_binary(data) end

---Waits for the next message. With `match`, those for which it returns nothing are let go, to `on_message` if that is set.
---@param options? lgoose.ReceiveOptions
---@return lgoose.Message? # nil if none came in time, or the socket has ended
function Socket:receive(options) end

---Sends a question, as `send` does, and waits for the message that answers it. Both together are a request of the report, in the row
---`WS name`, from the question until the answer has come. What had come before the question is let go. A stop does not end this wait.
---@param data string|table
---@param options? lgoose.AskOptions
---@return lgoose.Message? # nil if none came in time, or the socket has ended: the request has failed
function Socket:ask(data, options) end

---Reads messages, one at each turn of a loop, until none comes in time or the socket has ended.
---@param options? lgoose.ReceiveOptions
---@return fun(): lgoose.Message?
function Socket:messages(options) end

---Calls a function for each message, one after another, whenever the user waits for anything, in other tasks and between them, too.
---`receive`, `ask` and `messages` come first: it gets what they let go, and what comes while none of them waits. An error in it fails the
---task that runs then. Set again, the new function replaces the one before.
---@param fn fun(message: lgoose.Message)
function Socket:on_message(fn) end

---Closes the socket, and waits for the server to do so.
---@param code? integer # 1000, or one from 3000 to 4999 (default: 1000)
---@param reason? string # at most 123 bytes
function Socket:close(code, reason) end

---@class lgoose.ReceiveOptions
---@field timeout? lgoose.Duration # for how long to wait (default: the plan's timeout, 60)
---@field match? fun(message: lgoose.Message): any # which message is waited for

---@class lgoose.AskOptions: lgoose.ReceiveOptions
---@field name? string # the row (default: the task's name)

---A message of a WebSocket.
---@class lgoose.Message
---@field data string
---@field is_text boolean # whether it was sent as text
---@field at number # seconds from the beginning of the request that opened the socket until it had come
local Message = {}

---Decodes its data as JSON, or returns what a path leads to in it.
---@param path? string
---@return any
function Message:json(path) end
