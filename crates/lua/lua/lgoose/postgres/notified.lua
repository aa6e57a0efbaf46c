-- Notifications. A part of `lgoose.postgres`, kept with the first one.

local core = ...

local messages = core.keep "messages"

-- Waits for one.
return function(db, timeout)
  local waiting = db.notifications
  if timeout ~= nil then timeout = core.seconds("db:notified", timeout, 2) end
  if #waiting == 0 then
    if not db.ok then return nil, db.error end
    if db.is_in_use then return nil, messages.IN_USE end
    messages.begin(db, timeout)
    local kind, text, at, last = messages.next_reply(db, true)
    db.is_in_use = false
    if not kind then return nil, text end
    if kind == "E" then
      local _, problem = core.keep "errors"(db, text, at, last)
      return messages.broken(db, problem)
    elseif kind ~= "A" then
      return messages.broken(db, messages.BROKEN)
    end
  end
  return table.remove(waiting, 1)
end
