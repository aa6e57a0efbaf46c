-- Messages and exchanges of them. A part of `lgoose.postgres`, kept with the first connection.

local find, pack, sub, unpack = string.find, string.pack, string.sub, string.unpack
local clock, error, pcall, tostring = os.clock, error, pcall, tostring

local BROKEN = "protocol: this is no message of PostgreSQL"
local TOO_LARGE = "too large: a message of the server is larger than 'max_buffer'"

-- One exchange at a time: the replies to two would be taken for one another's.
local IN_USE = "in use: another function that runs beside this one waits for a reply over this connection, or was cancelled while it did; "
  .. "give each its own"

local messages = {}

-- Returns a message of that kind.
function messages.message(kind, body) return kind .. pack(">I4", #body + 4) .. body end

-- Closes the connection: where the next message begins is not known.
local function broken(db, problem, detail)
  db.socket:close()
  db.ok, db.error = false, problem
  return nil, problem, detail
end

-- Receives what has come, or so many bytes. Without a limit for the whole exchange, that of the plan applies each time.
local function receive(db, what)
  local deadline = db.deadline
  if not deadline then return db.socket:receive(what) end
  local rest = deadline - clock()
  if rest <= 0 then return nil, "timeout" end
  return db.socket:receive(what, { timeout = rest })
end

-- Reads the next message. Returns its kind, the text in which it is, and its first and its last place there; nil and a reason if none comes.
local function next_message(db)
  while true do
    local text, at = db.received, db.at
    local there = #text - at + 1
    local more, problem
    if there < 5 then
      more, problem = receive(db, "some")
    else
      local kind, length = unpack(">c1I4", text, at)
      -- Only some kinds are ever long. Anything else is the beginning of another protocol.
      if length < 4 or (length > 30000 and not find("TDdENA", kind, 1, true)) then return nil, BROKEN end
      if length >= db.most then return nil, TOO_LARGE end
      if there > length then
        db.at = at + length + 1
        -- Rows take memory of the user. All else is limited by what may come in one exchange.
        if kind ~= "D" then
          db.left = db.left - length
          if db.left < 0 then return nil, "too large: the server sends more than 'max_buffer' in addition to rows" end
        end
        return kind, text, at + 5, at + length
      end
      more, problem = receive(db, length + 1 - there)
    end
    if not more then return nil, problem end
    db.received, db.at = sub(text, at) .. more, 1
  end
end

-- Reads strings that end with a zero each. Returns nil if there are not that many.
local function read_strings(text, at, last, count)
  local strings = {}
  for i = 1, count do
    local stop = find(text, "\0", at, true)
    if not stop or stop > last then return nil end
    strings[i] = sub(text, at, stop - 1)
    at = stop + 1
  end
  return strings, at
end

-- Reads the next message that is no notice and no setting, which may come at any time.
local function next_reply(db, is_idle)
  while true do
    local kind, text, at, last = next_message(db)
    if not kind then
      -- What has arrived of a message by then is kept.
      if is_idle and text == "timeout" then return nil, text end
      return broken(db, text)
    end
    if kind == "S" then
      local pair = read_strings(text, at, last, 2)
      if not pair then return broken(db, BROKEN) end
      db.server[pair[1]] = pair[2]
    elseif kind == "A" then
      local pair = last - at > 3 and read_strings(text, at + 4, last, 2)
      if not pair then return broken(db, BROKEN) end
      local waiting = db.notifications
      waiting[#waiting + 1] = { channel = pair[1], payload = pair[2], process = unpack(">I4", text, at) }
      return "A"
    elseif kind ~= "N" then
      return kind, text, at, last
    end
  end
end

-- Ends an exchange by its outcome.
local function over(db, ok, result, ...)
  db.is_in_use = false
  if ok then return result, ... end
  if not find(tostring(result), "not enough memory", 1, true) then
    broken(db, "closed early: an exchange over this connection was interrupted by an error")
    error(result, 0)
  end
  return broken(db, "too large: the result does not fit into the memory of the user ('--lua-memory')")
end

-- Begins an exchange that ends within so many seconds.
local function begin(db, timeout)
  db.is_in_use, db.left = true, db.most
  -- What has arrived is received in no time.
  db.deadline = timeout and clock() + math.max(timeout, 0.001)
end

-- Counts an exchange as a request.
function messages.timed(db, name, timeout, fn)
  return db.plan_user:timed(name, function()
    if not db.ok then return nil, db.error end
    if db.is_in_use then return nil, IN_USE end
    begin(db, timeout or db.timeout)
    return over(db, pcall(fn))
  end, db.row)
end

messages.broken, messages.receive, messages.read_strings, messages.next_reply, messages.begin = broken, receive, read_strings, next_reply, begin
messages.BROKEN, messages.IN_USE = BROKEN, IN_USE

return messages
