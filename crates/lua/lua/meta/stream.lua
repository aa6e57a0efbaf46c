---@meta
-- A response that is read while it arrives.

---The response to a request with `{ stream = true }`, once its headers have arrived. The body waits until the plan reads it: a slow
---reader slows the server; the user may do anything else meanwhile. The request is counted when the plan has read the end or closes the stream,
---or when the user ends: its latency lasts until the last byte, or until the close. It fails if nothing arrives for as long as its
---`timeout`. A user may have 100 streams open.
---@class lgoose.Stream
---@field status integer # 0 without a response
---@field headers table<string, string> # names are case-insensitive; repeated headers are joined with ", "
---@field ok boolean # whether the request counts as a success; final after the end
---@field error string? # why the request counts as failed; final after the end
local Stream = {}

---Iterates over server-sent events: `for event in stream:events() do … end`.
---@param options? lgoose.MessageOptions
---@return fun(): lgoose.Event?
function Stream:events(options) end

---Iterates over lines, without their ends, such as NDJSON.
---@param options? lgoose.MessageOptions
---@return fun(): string?
function Stream:lines(options) end

---Iterates over pieces as they arrive.
---@param options? lgoose.MessageOptions
---@return fun(): string?
function Stream:chunks(options) end

---Counts the request as failed for this reason, unless its connection fails. Call it before the end.
---@param reason string
function Stream:fail(reason) end

---Ends the request here.
function Stream:close() end

---@class lgoose.MessageOptions
---@field counts? fun(message: any): any # whether an event, line or piece counts as a message of the request and makes its `first_event` and `event_gap`; the loop gets all of them (default: all count)
---@field last? fun(message: any): any # whether this message is the last one, such as `[DONE]`: the loop ends with it, and the request succeeds even if its connection stays open or breaks then
---@field to_end? boolean # when the user has to stop, read to the end of the response, just as other requests are finished (default: false)
---@field at_end? fun() # called at the end of the response, before the request is counted: the last moment for `stream:fail`

---A server-sent event.
---@class lgoose.Event
---@field data string # its lines of data, joined by line feeds
---@field name string # its type, "message" unless it has one
---@field id string # the latest event ID, "" without one
---@field at number # seconds from the start of the request until the event arrived
local Event = {}

---Decodes its data as JSON; with a path, such as `"choices[0].delta"`, returns only the value there.
---@param path? string
---@return any
function Event:json(path) end
