-- A WebSocket for whose messages several functions of a plan wait at a time. Each message is read once, by a waiting function or,
-- while none waits, by the handler of the socket. A part of `lgoose.socketio` and `lgoose.graphql_ws`, kept with the
-- first connection.

local core = ...

local clock, max, min = os.clock, math.max, math.min
local next, setmetatable = next, setmetatable

-- How long a wait without a limit of its own lasts at most while messages for others never cease, in seconds.
local LONGEST = 600

local connection = {}

-- Returns a duration in seconds; nil for nil.
function core.seconds(call, duration, level)
  if duration == nil then return nil end
  local ok, rule = pcall(wait.constant, duration)
  if not ok then error(('%s: the timeout is a number of seconds, or a text such as "500ms", not %s'):format(call, tostring(duration)), level + 1) end
  return rule[1]
end

-- Whether the WebSocket has ended, though messages may be left to read: one that the server has closed cleanly is still ok.
local function has_ended(socket) return not socket.ok or socket.close_reason ~= nil end

-- Ends a wait.
local function wake(c, item)
  item.done = true
  local sleeper = c.sleepers[item]
  if sleeper then
    c.sleepers[item] = nil
    sleeper:cancel()
  end
end

-- Ends the connection for a reason. The first one counts.
local function fail(c, reason)
  if not c.error then core.load "fail"(c, reason) end
end

local function read(c, message)
  -- A message that a waiting function has read, but not waited for, comes to the handler, too.
  if message.is_read then return end
  message.is_read = true
  c.heard = clock()
  if not c.error then c:on_message(message) end
end

-- Fails the connection if its WebSocket has ended, once all messages before the end are read.
local function look(c)
  local socket = c.socket
  if c.error or not has_ended(socket) then return end
  socket:receive { match = function(message) read(c, message) end, deadline = 1 }
  local reason = c.reason_of_end and c.reason_of_end(socket) or socket.error
  fail(c, reason or "closed early: the server has closed the connection")
end

-- Returns why the connection is not open; nil if it is.
function connection.problem(c)
  look(c)
  return c.error
end

-- Reads messages until the one comes that the item waits for. Returns the reason if it does not.
local function lead(c, item, timeout, deadline)
  c.leader = item
  local _ <close> = setmetatable({}, { __close = function() c.leader = nil end })
  local socket = c.socket
  local options = {
    match = function(message)
      read(c, message)
      return item.done or c.error
    end,
  }
  while true do
    local now = clock()
    options.deadline = deadline - now
    if timeout then
      if deadline <= now then return "timeout" end
      options.timeout = deadline - now
    end
    -- A connection is silent no longer than that.
    if timeout and c.patience then options.deadline = max(0.001, min(options.deadline, c.heard + c.patience - now)) end
    socket:receive(options)
    if item.done then return end
    look(c)
    if c.error then return c.error end
    if c.patience and clock() - c.heard >= c.patience then
      fail(c, ("ping timeout: nothing has come for %g s"):format(c.patience))
      return c.error
    end
    if not timeout then return "timeout" end
  end
end

-- Waits until `connection.wake` is called with the item. Returns true, or nil and the reason.
function connection.wait(c, item, timeout)
  local deadline = clock() + (timeout or LONGEST)
  look(c)
  while not item.done do
    if c.error then return nil, c.error end
    if not c.leader then
      local problem = lead(c, item, timeout, deadline)
      -- Another one reads from now on.
      local follower, sleeper = next(c.sleepers)
      if follower then
        c.sleepers[follower] = nil
        sleeper:cancel()
      end
      if problem then return nil, problem end
    elseif clock() >= deadline then
      return nil, "timeout"
    else
      core.keep "follow"(c, item, deadline)
    end
  end
  return true
end

-- Wakes those who wait for a value of a queue.
function connection.wake_all(c, queue)
  local items = queue.items
  queue.items = nil
  for i = 1, items and #items or 0 do
    wake(c, items[i])
  end
end

-- Appends a value to a queue, which begins as { first = 1, last = 0 }. Returns how many it has now.
function connection.push(c, queue, value)
  local last = queue.last + 1
  queue.last, queue[last] = last, value
  if queue.items then connection.wake_all(c, queue) end
  return last - queue.first + 1
end

-- Removes the first value of a queue.
local function shift(queue)
  local first = queue.first
  if first > queue.last then return nil end
  local value = queue[first]
  queue.first, queue[first] = first + 1, nil
  return value
end

-- Removes the first value of a queue, for which it waits, at most as many seconds. Returns nil and the reason if none comes, such as that
-- which `problem_of` returns for the owner.
function connection.take(c, queue, timeout, problem_of, owner)
  local due = timeout and clock() + timeout
  while queue.first > queue.last do
    local problem = problem_of(owner)
    if problem then return nil, problem end
    local item, items = {}, queue.items or {}
    queue.items, items[#items + 1] = items, item
    local ok, missing = connection.wait(c, item, due and due - clock())
    if not ok then
      for i = #items, 1, -1 do
        if items[i] == item then table.remove(items, i) end
      end
      return nil, missing
    end
  end
  return shift(queue)
end

connection.fail, connection.has_ended, connection.read, connection.shift, connection.wake = fail, has_ended, read, shift, wake

return connection
