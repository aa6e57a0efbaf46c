-- Messages that others publish. A part of `lgoose.redis`, kept with the first one.

local core = ...

local redis = core.keep "commands"

-- Reads the rest of a push, whose first line has come.
local function read_push(db, first)
  local count = math.tointeger(tonumber(first:match "^[>*](%d+)\r$"))
  if not count then return nil, redis.BROKEN end
  return redis.read_list(db, count, 1)
end

return function(db, timeout)
  if #db.pushes > 0 then return table.remove(db.pushes, 1) end
  if not db.ok then return nil, db.error end
  if db.is_in_use then return nil, redis.IN_USE end
  db.is_in_use = true
  -- Only the beginning is waited for: a push that has begun is read to its end.
  local list
  local first, problem = db.socket:receive({ until_ = "\n", timeout = timeout })
  if first then
    list, problem = read_push(db, first)
  end
  db.is_in_use = false
  if list then return list end
  if not first and problem == "timeout" then return nil, problem end
  return redis.broken(db, problem)
end
