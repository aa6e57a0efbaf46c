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

local OPTIONS = "address, hello, name, password, server_name, starttls, tags, timeout, tls, user"
local FIELDS = "body, from, headers, message, name, subject, to"
-- The most lines of a reply, and the longest line.
local MOST_LINES, LONGEST = 200, 4096

local function refuse_unknown(owner, what, given, known)
  if type(given) ~= "table" then error(owner .. " takes a table of its " .. what .. "s", 3) end
  for name in pairs(given) do
    if not (", " .. known .. ","):find(", " .. tostring(name) .. ",", 1, true) then
      error(("%s: unknown %s '%s'; %ss: %s"):format(owner, what, tostring(name), what, known), 3)
    end
  end
end

-- Text behind the end of its line could be a command of its own.
local function line_of(owner, what, text)
  if type(text) ~= "string" then error(("%s: %s must be a string"):format(owner, what), 3) end
  if text:find "[\r\n\0]" then error(("%s: %s is one line"):format(owner, what), 3) end
  return text
end

local methods = {}

local function broken(server, problem)
  server.socket:close()
  server.ok, server.error = false, problem
  return nil, problem
end

-- Reads a reply: its code, and its lines. Nil and the reason if none comes.
local function reply(server)
  local lines = {}
  for n = 1, MOST_LINES do
    local line, problem = server.socket:receive("line", { timeout = server.options.timeout, max = LONGEST })
    if not line then return broken(server, problem) end
    local code, sign, text = line:match "^(%d%d%d)([ -]?)(.*)$"
    if not code then return broken(server, "protocol: this is no reply of SMTP") end
    lines[n] = text
    if sign ~= "-" then return tonumber(code), lines end
  end
  return broken(server, "protocol: a reply has too many lines")
end

-- Expects a reply of a hundred of codes. Returns its lines, or nil and the reason.
local function expect(server, hundred)
  local code, lines = reply(server)
  if not code then return nil, lines end
  if code // 100 == hundred then return lines end
  return nil, code .. " " .. table.concat(lines, " ")
end

local function command(server, line, hundred)
  local sent, problem = server.socket:send { line, "\r\n" }
  if not sent then return broken(server, problem) end
  return expect(server, hundred)
end

-- One exchange at a time: the replies to two would be taken for one another's.
local IN_USE = "in use: another function that runs beside this one waits for a reply over this connection, or was cancelled while it did; "
  .. "give each its own"

local function timed(server, name, fn)
  return server.plan_user:timed(name, function()
    if not server.ok then return nil, server.error end
    if server.is_in_use then return nil, IN_USE end
    server.is_in_use = true
    local done, problem = fn()
    server.is_in_use = false
    return done, problem
  end, server.row)
end

-- Greets the server, and reads its extensions.
local function hello(server)
  local lines, problem = command(server, "EHLO " .. server.hello, 2)
  server.extensions = {}
  if not lines then
    if not server.ok then return nil, problem end
    -- Old servers know no EHLO.
    lines, problem = command(server, "HELO " .. server.hello, 2)
    return lines and true, problem
  end
  for n = 2, #lines do
    local name, parameters = lines[n]:match "^(%S+)%s*(.*)$"
    if name then server.extensions[name:upper()] = parameters end
  end
  return true
end

local function authenticate(server)
  local name, password = server.options.user, server.options.password or ""
  local kinds = " " .. (server.extensions.AUTH or ""):upper() .. " "
  if kinds:find(" PLAIN ", 1, true) then
    local lines, problem = command(server, "AUTH PLAIN " .. base64.encode("\0" .. name .. "\0" .. password), 2)
    return lines and true, problem
  elseif kinds:find(" LOGIN ", 1, true) then
    for _, step in ipairs {
      { "AUTH LOGIN", 3 },
      { base64.encode(name), 3 },
      { base64.encode(password), 2 },
    } do
      local lines, problem = command(server, step[1], step[2])
      if not lines then return nil, problem end
    end
    return true
  end
  return nil, "the server offers neither AUTH PLAIN nor AUTH LOGIN"
end

-- Words of a header that are not ASCII (RFC 2047), each of at most 75 characters.
local function encoded_words(text)
  if not text:find "[^\32-\126]" then return text end
  local words, part = {}, ""
  for character in text:gmatch "[\0-\x7F\xC2-\xFD][\x80-\xBF]*" do
    if #part + #character > 42 then
      words[#words + 1] = "=?utf-8?B?" .. base64.encode(part) .. "?="
      part = ""
    end
    part = part .. character
  end
  words[#words + 1] = "=?utf-8?B?" .. base64.encode(part) .. "?="
  return table.concat(words, "\r\n ")
end

local function message_of(server, mail, recipients)
  server.count = server.count + 1
  local id = ("<%d.%d.%d@%s>"):format(time.ms(), server.plan_user.id, server.count, server.hello)
  -- Mails that report a failure have no sender to report to.
  local from = mail.from == "" and "MAILER-DAEMON@" .. server.hello or mail.from
  local lines = {
    "From: <" .. from .. ">",
    "To: <" .. table.concat(recipients, ">, <") .. ">",
    "Date: " .. time.format("%a, %d %b %Y %H:%M:%S +0000"),
    "Message-ID: " .. id,
    "Subject: " .. encoded_words(line_of("server:send", "the subject", mail.subject or "")),
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
  }
  local names = {}
  for name in pairs(mail.headers or {}) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if type(name) ~= "string" or not name:find "^[!-9;-~]+$" then error("server:send: this is not the name of a header", 3) end
    lines[#lines + 1] = name .. ": " .. encoded_words(line_of("server:send", "header '" .. name .. "'", mail.headers[name]))
  end
  local body = mail.body or ""
  local is_plain = not body:find "[^\t\r\n\32-\126]"
  for line in body:gmatch "[^\n]+" do
    is_plain = is_plain and #line <= 900
  end
  if not is_plain then
    lines[#lines + 1] = "Content-Transfer-Encoding: base64"
    body = base64.encode(body):gsub(("."):rep(76), "%0\r\n")
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = body
  return table.concat(lines, "\r\n")
end

function methods.send(server, mail)
  refuse_unknown("server:send", "field", mail, FIELDS)
  local from = line_of("server:send", "'from'", mail.from)
  local recipients = type(mail.to) == "table" and mail.to or { mail.to }
  if #recipients == 0 then error("server:send: 'to' names nobody", 2) end
  for _, to in ipairs(recipients) do line_of("server:send", "'to'", to) end
  local message = mail.message or message_of(server, mail, recipients)
  if type(message) ~= "string" then error("server:send: 'message' must be a string", 2) end
  -- Lines end with CR and LF, and a dot at the beginning of one is doubled.
  message = ("\n" .. message):gsub("\r?\n", "\r\n"):gsub("\n%.", "\n.."):sub(3)
  if message:sub(-2) ~= "\r\n" then message = message .. "\r\n" end
  return timed(server, mail.name or "send", function()
    local lines, problem = command(server, "MAIL FROM:<" .. from .. ">", 2)
    for n = 1, lines and #recipients or 0 do
      lines, problem = command(server, "RCPT TO:<" .. recipients[n] .. ">", 2)
      if not lines then break end
    end
    if lines then
      lines, problem = command(server, "DATA", 3)
    end
    if lines then
      lines, problem = command(server, message .. ".", 2)
    elseif server.ok then
      -- The next mail begins anew.
      command(server, "RSET", 2)
    end
    if lines then return true end
    return nil, problem
  end)
end

function methods.quit(server)
  if server.ok and not server.is_in_use then timed(server, "quit", function()
    local lines, problem = command(server, "QUIT", 2)
    return lines and true, problem
  end) end
  server.socket:close()
  server.ok = false
  server.error = server.error or "closed early: the plan has closed the connection"
end

local server_meta = { __name = "smtp server", __index = methods }

---Opens a connection.
---@param user lgoose.User
---@param options? lgoose.smtp.Options
---@return lgoose.smtp.Server
function smtp.connect(user, options)
  options = options or {}
  if type(user) ~= "table" then error("smtp.connect takes the user: smtp.connect(user, { … })", 2) end
  refuse_unknown("smtp.connect", "option", options, OPTIONS)
  if options.tls and options.starttls then error("smtp.connect: either 'tls' or 'starttls'", 2) end
  local socket = user:tcp(options.address, {
    name = options.name or "smtp",
    tls = options.tls,
    -- Only TLS has one.
    server_name = options.tls and options.server_name or nil,
    timeout = options.timeout,
    tags = options.tags,
  })
  local server = setmetatable({
    socket = socket,
    options = options,
    ok = socket.ok,
    error = socket.error,
    hello = line_of("smtp.connect", "option 'hello'", options.hello or "localhost"),
    extensions = {},
    count = 0,
    is_in_use = false,
    plan_user = user,
    row = { kind = "SMTP", tags = options.tags },
  }, server_meta)
  if not server.ok then return server end
  local ok, problem = timed(server, "hello", function()
    local lines, refusal = expect(server, 2)
    if not lines then return nil, refusal end
    return hello(server)
  end)
  if ok and options.starttls then
    ok, problem = timed(server, "starttls", function()
      local lines, refusal = command(server, "STARTTLS", 2)
      if not lines then return nil, refusal end
      local secured, failed = socket:start_tls { server_name = options.server_name, timeout = options.timeout }
      if not secured then return broken(server, failed) end
      -- The first greeting is void (RFC 3207, section 4.2).
      return hello(server)
    end)
  end
  if ok and options.user then
    ok, problem = timed(server, "auth", function() return authenticate(server) end)
  end
  if not ok and server.ok then broken(server, problem) end
  return server
end

return smtp
