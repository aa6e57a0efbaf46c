-- Exchanges with a mail server: commands and replies, one after another. A part of `lgoose.smtp`.

-- The most lines of a reply, and the longest line.
local MOST_LINES, LONGEST = 200, 4096

-- Raises an error for a field that is not known: so many calls up from here.
local function refuse_unknown(owner, what, given, known, level)
  if type(given) ~= "table" then error(owner .. " takes a table of its " .. what .. "s", level) end
  for name in pairs(given) do
    if not (", " .. known .. ","):find(", " .. tostring(name) .. ",", 1, true) then
      error(("%s: unknown %s '%s'; %ss: %s"):format(owner, what, tostring(name), what, known), level)
    end
  end
end

-- Text behind the end of its line could be a command of its own.
local function line_of(owner, what, text, level)
  if type(text) ~= "string" then error(("%s: %s must be a string"):format(owner, what), level) end
  if text:find "[\r\n\0]" then error(("%s: %s is one line"):format(owner, what), level) end
  return text
end

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

local function quit(server)
  if server.ok and not server.is_in_use then timed(server, "quit", function()
    local lines, problem = command(server, "QUIT", 2)
    return lines and true, problem
  end) end
  server.socket:close()
  server.ok = false
  server.error = server.error or "closed early: the plan has closed the connection"
end

return { refuse_unknown = refuse_unknown, line_of = line_of, broken = broken, expect = expect, command = command, timed = timed, quit = quit }
