---@meta
-- Sockets on which a plan speaks a protocol of its own.

---A TCP connection, with TLS or without, or a socket for datagrams (UDP). It lives until it is closed, the plan lets go of it, or its user ends,
---in `user.data` over tasks and iterations, too. What the peer sends waits until the plan takes it, at most `max_buffer` of it in lgoose.
---A user may have 100 streams and sockets open.
---
---Nothing raises when the peer fails: `send` and `receive` then return nil and the reason.
---@class lgoose.NetSocket
---@field ok boolean # whether it was opened, and neither it has failed since nor the peer has closed it
---@field error string? # why not
local NetSocket = {}

---Sends a string, or all strings of a list, as one message. Waits until the network has taken all of it.
---@param data string|string[]
---@param options? lgoose.SendOptions
---@return true? ok # nil if it failed
---@return string? reason # why
function NetSocket:send(data, options) end

---Receives a message. Waits until all of it has come. A connection that the peer has closed gives what had come before, and then nil.
---
---| | |
---|---|---|
---| `receive(n)` | so many bytes |
---| `receive "line"` | a line, without its end (LF, or CR and LF) |
---| `receive { until_ = "\r\n\r\n", max = 65536 }` | what comes before these bytes, which are left out |
---| `receive "some"` | what has come, at least a byte |
---| `receive "all"` | all until the peer closes |
---| `receive()` | of UDP: a datagram |
---
---If nothing comes in time, the reason is "timeout"; the socket stays open, and what has come of the message stays to be received.
---@param what? integer|"line"|"some"|"all"|lgoose.NetReceiveOptions
---@param options? lgoose.NetReceiveOptions # of a number or a word
---@return string? message # nil if it failed
---@return string? reason # why
function NetSocket:receive(what, options) end

---Begins TLS on an open connection, as STARTTLS of mail servers does. Its certificate must be for the host that the socket is connected to.
---@param options? lgoose.StartTlsOptions
---@return true? ok # nil if it failed
---@return string? reason # why
function NetSocket:start_tls(options) end

---Closes the socket.
function NetSocket:close() end

---@class lgoose.UdpOptions
---@field name? string # the row (default: the address)
---@field timeout? lgoose.Duration # for how long to wait for the connection (default: the plan's timeout, 60)
---@field tags? table<string, string|number|boolean>

---@class lgoose.NetOptions: lgoose.UdpOptions
---@field max_buffer? integer # the most bytes that wait for the plan, 1 to 64 MiB (default: 1 MiB); they count as the memory of the user
---@field tls? boolean # of user:tcp: begin with a TLS handshake, as user:tls does
---@field server_name? string # of TLS: the name that is sent and that the certificate must be for (default: the host)

---@class lgoose.SendOptions
---@field timeout? lgoose.Duration # after which the connection is closed (default: the plan's timeout, 60)

---@class lgoose.NetReceiveOptions
---@field timeout? lgoose.Duration # for how long to wait (default: the plan's timeout, 60)
---@field until_? string # which bytes end the message, 1 to 256
---@field max? integer # the most bytes of the message (default: all that the buffer holds); more is a failure

---@class lgoose.StartTlsOptions
---@field server_name? string # (default: the host)
---@field timeout? lgoose.Duration # (default: the plan's timeout, 60)

---@class lgoose.TimedOptions
---@field kind? string # what the row has where a request has its method, up to 20 capital letters and digits (default: "TIMED")
---@field tags? table<string, string|number|boolean>
