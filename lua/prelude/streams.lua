-- What waits in a stream: its events, lines and chunks, and its close. A part of the prelude.

local yield, RECEIVE, END_STREAM, take, json = ...
local setmetatable = setmetatable

local event_meta = {
  __name = "event",
  __metatable = false,
  __index = {
    -- Its data, or what is at the path in it.
    json = function(event, path)
      local value = json.decode(event.data)
      if path == nil then return value end
      return json.get(value, path)
    end,
  },
}

-- Gives the next message, or nil at the end, where the request is counted.
local function next_of(stream, kind)
  while true do
    local message, more = take(stream, kind)
    if message ~= nil then return message end
    if not more then
      yield(END_STREAM, stream)
      return nil
    end
    yield(RECEIVE, stream)
  end
end

local function events(stream)
  return function()
    local event = next_of(stream, "event")
    return event and setmetatable(event, event_meta)
  end
end

local function lines(stream)
  return function() return next_of(stream, "line") end
end

local function chunks(stream)
  return function() return next_of(stream, "chunk") end
end

local function close(stream) yield(END_STREAM, stream) end

return events, lines, chunks, close
