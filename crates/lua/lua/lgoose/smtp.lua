---Mail over SMTP (RFC 5321), with STARTTLS and AUTH.
---
---    local smtp = require "lgoose.smtp"
---    local server = smtp.connect(user, { address = "127.0.0.1:25" })
---    server:send { from = "load@shop.example", to = "ann@shop.example", subject = "Order 7", body = "Thank you." }
---    server:quit()
---
---The connection is the row `TCP smtp`. Each further step is a request: the greeting is the row `SMTP hello`, followed by `SMTP starttls`,
---`SMTP auth`, and `SMTP send` for each mail. If the server refuses a step, the request fails with the text of its reply.
---@class lgoose.smtp
local smtp = {}

---@class lgoose.smtp.Options
---@field address? string # host:port (default: the host of the user, and its port)
---@field name? string # the row of the connection (default: "smtp")
---@field hello? string # the name of the client (default: "localhost")
---@field tls? boolean # start with TLS, as on port 465 (default: false)
---@field starttls? boolean # start TLS on the open connection (default: false)
---@field server_name? string # with TLS: the name to send, for which the certificate must be valid (default: the host)
---@field user? string # for AUTH, by PLAIN or LOGIN
---@field password? string # for AUTH
---@field timeout? lgoose.Duration # for each reply (default: the plan's timeout)
---@field tags? table<string, string|number|boolean> # of all its rows

---A connection.
---@class lgoose.smtp.Server
---@field ok boolean # whether it is open, and the server has accepted the client
---@field error? string # why it is not ok
---@field extensions table<string, string> # the server's extensions by name, in capital letters, with their parameters
---@field send fun(self: lgoose.smtp.Server, mail: lgoose.smtp.Mail): true?, string? # sends a mail; returns nil and the reason if it was not accepted
---@field quit fun(self: lgoose.smtp.Server) # sends QUIT, and closes the connection

---@class lgoose.smtp.Mail
---@field from string # the address of the sender
---@field to string|string[] # the addresses of the recipients: if one is refused, the mail is not sent
---@field subject? string
---@field body? string # a text in UTF-8
---@field headers? table<string, string> # additional headers
---@field message? string # the whole mail with its headers, in place of subject, body and headers
---@field name? string # the row `SMTP name` (default: "send")

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

core.meta = {
  __name = "smtp server",
  __index = function(_, name)
    if name == "send" then return core.keep "send" end
    if name == "quit" then return core.keep("exchange").quit end
  end,
}

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.smtp.Options
---@return lgoose.smtp.Server
function smtp.connect(user, options)
  local server = core.load "connect"(user, options)
  return server
end

return smtp
