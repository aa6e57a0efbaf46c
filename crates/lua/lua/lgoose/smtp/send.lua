-- Mails: how they are written and sent. A part of `lgoose.smtp`.

local core = ...

local exchange = core.keep "exchange"
local command, line_of, timed = exchange.command, exchange.line_of, exchange.timed

local FIELDS = "body, from, headers, message, name, subject, to"

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
    "Subject: " .. encoded_words(line_of("server:send", "the subject", mail.subject or "", 4)),
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
  }
  local names = {}
  for name in pairs(mail.headers or {}) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if type(name) ~= "string" or not name:find "^[!-9;-~]+$" then error("server:send: this is not the name of a header", 3) end
    lines[#lines + 1] = name .. ": " .. encoded_words(line_of("server:send", "header '" .. name .. "'", mail.headers[name], 4))
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

return function(server, mail)
  exchange.refuse_unknown("server:send", "field", mail, FIELDS, 3)
  local from = line_of("server:send", "'from'", mail.from, 3)
  local recipients = type(mail.to) == "table" and mail.to or { mail.to }
  if #recipients == 0 then error("server:send: 'to' names nobody", 2) end
  for _, to in ipairs(recipients) do line_of("server:send", "'to'", to, 3) end
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
