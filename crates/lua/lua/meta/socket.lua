---@meta
-- A WebSocket.

---A WebSocket. It stays open until it is closed or its user ends; keep it in `user.data` across tasks and iterations. Messages wait
---until the plan takes them: a slow reader slows the server. A user may have 100 streams and sockets open.
---@class lgoose.Socket
---@field status integer # 101 if it was opened; 0 without a response
---@field headers table<string, string> # of the response; names are case-insensitive
---@field ok boolean # whether it is open, or the server has closed it as expected: with code 1000 or none, or one of `expect.close_code`
---@field error string? # why it counts as failed; final after its end
---@field body string? # the body of a response that has refused the socket
---@field subprotocol string? # the one that the server has chosen
---@field close_code integer? # the code with which the server closed it
---@field close_reason string? # the server's reason for closing it
local Socket = {}

---Sends a text, or a table as JSON. Waits while the connection cannot take more.
---@param data string|table
---@return boolean # false if the socket is closed
function Socket:send(data) end

---Sends bytes.
---@param data string
---@return boolean # false if the socket is closed
function Socket:send_binary(data) end

---Waits for the next message. With `match`, messages for which it returns nil or false are skipped; `on_message` gets them if it is set.
---@param options? lgoose.ReceiveOptions
---@return lgoose.Message? # nil if none arrived in time, or the socket has ended
function Socket:receive(options) end

---Sends a message, as `send` does, and waits for the reply. Both together count as a request, in the row `WS name`, with the time from
---sending until the reply has arrived. Earlier messages are skipped. A stop does not end this wait.
---@param data string|table
---@param options? lgoose.AskOptions
---@return lgoose.Message? # nil if none arrived in time, or the socket has ended: the request has failed
function Socket:ask(data, options) end

---Iterates over the messages until none arrives in time or the socket has ended.
---@param options? lgoose.ReceiveOptions
---@return fun(): lgoose.Message?
function Socket:messages(options) end

---Calls a function for each message, one after another, whenever the user waits for anything, also in other tasks and between tasks.
---`receive`, `ask` and `messages` take precedence: it gets the messages that they skip, and those that arrive while none of them waits. An
---error in it fails the task that is running. A new function replaces the previous one.
---@param fn fun(message: lgoose.Message)
function Socket:on_message(fn) end

---Sends a ping, and waits for its pong, which counts as a request in the row `WS ping`. Returns how long that took, in seconds.
---@param options? lgoose.AskOptions # without `match`; the row is `ping` if it has no name
---@return number? # nil if no pong came in time, or the socket has ended: the request has failed
function Socket:ping(options) end

---Closes the socket, and waits for the server to do so.
---@param code? integer # 1000, or one from 3000 to 4999 (default: 1000)
---@param reason? string # at most 123 bytes
function Socket:close(code, reason) end

---@class lgoose.ReceiveOptions
---@field timeout? lgoose.Duration # how long to wait (default: the plan's timeout, 60)
---@field match? fun(message: lgoose.Message): any # returns true for the message to wait for
---@field deadline? lgoose.Duration # how long the call lasts at most, or, with `messages`, the whole loop, whatever arrives (default: no limit)

---@class lgoose.AskOptions: lgoose.ReceiveOptions
---@field name? string # the row (default: the task's name)

---A message of a WebSocket.
---@class lgoose.Message
---@field data string
---@field is_text boolean # whether it was sent as text
---@field at number # seconds from the start of the request that opened the socket until the message arrived
local Message = {}

---Decodes its data as JSON; with a path, returns only the value there.
---@param path? string
---@return any
function Message:json(path) end
