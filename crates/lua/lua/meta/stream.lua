---@meta
-- A response that is read while it comes.

---The response to a request with `{ stream = true }`, once its head is there. What comes is kept until the plan takes it, up to
---`max_buffer`; the user may do anything else meanwhile. The request is counted when the plan has read the end or closes the stream,
---or when the user ends: its latency goes to the last byte, or to the close. It fails if nothing comes for as long as its `timeout`
---says. A user may have 100 streams open.
---@class lgoose.Stream
---@field status integer # 0 without a response
---@field headers table<string, string> # names are case-insensitive; repeated headers are joined with ", "
---@field ok boolean # whether the request counts as a success; final after the end
---@field error string? # why the request counts as failed; final after the end
local Stream = {}

---Reads server-sent events, one at each turn of a loop: `for event in stream:events() do … end`.
---@param options? lgoose.MessageOptions
---@return fun(): lgoose.Event?
function Stream:events(options) end

---Reads lines without their ends, such as NDJSON.
---@param options? lgoose.MessageOptions
---@return fun(): string?
function Stream:lines(options) end

---Reads pieces as they come.
---@param options? lgoose.MessageOptions
---@return fun(): string?
function Stream:chunks(options) end

---Counts the request as failed for this reason, unless its connection fails. Call it before the end.
---@param reason string
function Stream:fail(reason) end

---Ends the request here.
function Stream:close() end

---@class lgoose.MessageOptions
---@field counts? fun(message: any): any # whether an event, line or piece counts as a message of the request and makes its `first_event` and `event_gap`; the loop has all of them (default: all count)
---@field to_end? boolean # reads on to the end of the response when the user has to stop, as any other request is finished (default: false)
---@field at_end? fun() # called at the end of the response, before the request is counted: the last moment for `stream:fail`

---A server-sent event.
---@class lgoose.Event
---@field data string # its lines of data, joined by line feeds
---@field name string # its type, "message" unless it has one
---@field id string # the latest identity, "" without one
---@field at number # seconds from the beginning of the request until it had come
local Event = {}

---Decodes its data as JSON, or returns what a path leads to in it, such as `"choices[0].delta"`.
---@param path? string
---@return any
function Event:json(path) end
