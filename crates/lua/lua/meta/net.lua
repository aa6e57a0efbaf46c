---@meta
-- Sockets on which a plan speaks a protocol of its own.

---A TCP connection, with or without TLS, or a socket for datagrams (UDP). It stays open until it is closed, the plan drops it, or its user
---ends; keep it in `user.data` across tasks and iterations. Received bytes wait until the plan reads them, at most `max_buffer` of them in
---lgoose. A user may have 100 streams and sockets open.
---
---A failure of the peer raises no error: `send` and `receive` then return nil and the reason.
---@class lgoose.NetSocket
---@field ok boolean # whether it was opened, has not failed since, and has not been closed by the peer
---@field error string? # why it is not ok
local NetSocket = {}

---Sends a string, or all strings of a list, as one message. Waits until the network has taken all of it.
---@param data string|string[]
---@param options? lgoose.SendOptions
---@return true? ok # nil if it failed
---@return string? reason # why
function NetSocket:send(data, options) end

---Receives a message. Waits until all of it has arrived. After the peer has closed the connection, returns the remaining bytes, then nil.
---
---| | |
---|---|---|
---| `receive(n)` | n bytes |
---| `receive "line"` | a line, without its end (LF or CRLF) |
---| `receive { until_ = "\r\n\r\n", max = 65536 }` | everything before these bytes, which are left out |
---| `receive "some"` | the bytes received so far, at least one |
---| `receive "all"` | everything until the peer closes the connection |
---| `receive()` | with UDP: a datagram |
---
---If the message does not arrive in time, the reason is "timeout"; the socket stays open, and the bytes received so far can still be read.
---@param rule? integer|"line"|"some"|"all"|lgoose.NetReceiveOptions
---@param options? lgoose.NetReceiveOptions # for a number or a word
---@return string? message # nil if it failed
---@return string? reason # why
function NetSocket:receive(rule, options) end

---Starts TLS on an open connection, as with STARTTLS of mail servers. The certificate must be valid for the host that the socket is
---connected to.
---@param options? lgoose.StartTlsOptions
---@return true? ok # nil if it failed
---@return string? reason # why
function NetSocket:start_tls(options) end

---Closes the socket.
function NetSocket:close() end

---@class lgoose.UdpOptions
---@field name? string # the row (default: the address)
---@field timeout? lgoose.Duration # how long to wait for the connection (default: the plan's timeout, 60)
---@field tags? table<string, string|number|boolean>

---@class lgoose.NetOptions: lgoose.UdpOptions
---@field max_buffer? integer # the most received bytes that may wait for the plan, up to 64 MiB (default: 1 MiB); they count as memory of the user
---@field tls? boolean # for user:tcp: start with a TLS handshake, as user:tls does
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)

---@class lgoose.SendOptions
---@field timeout? lgoose.Duration # after which the connection is closed (default: the plan's timeout, 60)

---@class lgoose.NetReceiveOptions
---@field timeout? lgoose.Duration # how long to wait (default: the plan's timeout, 60)
---@field until_? string # the bytes that end the message, 1 to 256 of them
---@field max? integer # the most bytes of the message (default: the size of the buffer); more is a failure

---@class lgoose.StartTlsOptions
---@field server_name? string # (default: the host)
---@field timeout? lgoose.Duration # (default: the plan's timeout, 60)

---@class lgoose.MeasuredExchange
---@field name string # the row
---@field time lgoose.Duration # how long it took; it has ended now
---@field kind? string # stands in place of a method: capital letters and digits, up to 20 (default: "RECORD")
---@field ok? boolean # whether it succeeded (default: true, unless there is an error)
---@field error? string # why it failed
---@field bytes? integer # bytes received
---@field tags? table<string, string|number|boolean>

---@class lgoose.TimedOptions
---@field kind? string # the first word of its row, in place of a method: up to 20 capital letters and digits (default: "TIMED")
---@field tags? table<string, string|number|boolean>
