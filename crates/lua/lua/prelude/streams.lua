-- The waiting methods of a stream: its events, lines and chunks, and its close. A part of the prelude.

local yield, RECEIVE, END_STREAM, take, event_meta, read_options, count, complete = ...
local setmetatable = setmetatable

-- Returns the next message, or nil at the end, where the request is counted after `at_end`.
local function next_of(stream, kind, at_end)
  while true do
    local message, more = take(stream, kind)
    if message ~= nil then return message end
    if not more then
      if at_end then at_end() end
      yield(END_STREAM, stream)
      return nil
    end
    yield(RECEIVE, stream)
  end
end

-- Iterates over messages, of which only those count for which `counts` returns true.
local function messages_with(stream, kind, options)
  local counts, at_end, is_last = read_options(stream, kind, options)
  local taken = counts and "uncounted " .. kind or kind
  local is_over = false
  return function()
    local message = nil
    if is_over then
      if at_end then at_end() end
      yield(END_STREAM, stream)
    else
      message = next_of(stream, taken, at_end)
    end
    if message == nil then
      at_end = nil
      return nil
    end
    if kind == "event" then setmetatable(message, event_meta) end
    if counts and counts(message) then count(stream) end
    if is_last and is_last(message) then
      complete(stream)
      is_over = true
    end
    return message
  end
end

local function events(stream, options)
  if options ~= nil then return messages_with(stream, "event", options) end
  return function()
    local event = next_of(stream, "event")
    return event and setmetatable(event, event_meta)
  end
end

local function lines(stream, options)
  if options ~= nil then return messages_with(stream, "line", options) end
  return function() return next_of(stream, "line") end
end

local function chunks(stream, options)
  if options ~= nil then return messages_with(stream, "chunk", options) end
  return function() return next_of(stream, "chunk") end
end

local function close(stream) yield(END_STREAM, stream) end

return events, lines, chunks, close
