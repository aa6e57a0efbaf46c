-- The methods of an open gRPC call: sending, waiting for messages, and closing. A part of the prelude.

local yield, operations, host = ...
local error, next, tostring, type = error, next, tostring, type
local RECEIVE, END_STREAM, FLUSH = operations.receive, operations.end_stream, operations.flush
local take, clock = host.take, host.clock

local function fail(message) error(host.here() .. message, 0) end

local function read_options(options, call, known, other)
  if options == nil then return end
  if type(options) ~= "table" then fail("the options of " .. call .. " are a table: { " .. known .. " = … }") end
  for name in next, options do
    if name ~= known and name ~= other then
      local all = known .. (other and ", " .. other or "")
      fail("unknown option '" .. tostring(name) .. "' of " .. call .. "; options: " .. all)
    end
  end
  local deadline = other and options[other]
  return options[known], deadline and clock() + host.nanoseconds(deadline, "option 'deadline' of " .. call) or nil
end

-- Waits for the next message; nil at the end of the call, or when the time is up. The deadline is on the clock.
local function receive(call, timeout, deadline)
  local start = clock()
  while true do
    local rest = deadline and (deadline - clock()) / 1e9
    if rest and rest <= 0 then return nil end
    local is_there, more, message = take(call)
    if is_there then
      -- A response that is the only one is one once its status has come.
      while host.has_one_response(call) and more do
        if yield(RECEIVE, call, timeout or false, (clock() - start) / 1e9, rest) then return message end
        local another
        another, more = take(call)
      end
      if host.has_one_response(call) then yield(END_STREAM, call) end
      return message
    elseif not more then
      yield(END_STREAM, call)
      return nil
    elseif yield(RECEIVE, call, timeout or false, (clock() - start) / 1e9, rest) then
      return nil
    end
  end
end

return {
  send = function(call, message, options)
    local ok, has_room = host.send(call, message, (read_options(options, "call:send", "compress")))
    if not has_room then yield(FLUSH, call) end
    return ok
  end,
  receive = function(call, options) return receive(call, read_options(options, "call:receive", "timeout", "deadline")) end,
  messages = function(call, options)
    local timeout, deadline = read_options(options, "call:messages", "timeout", "deadline")
    return function() return receive(call, timeout, deadline) end
  end,
  close_send = function(call) host.close_send(call) end,
  close = function(call) yield(END_STREAM, call) end,
}
