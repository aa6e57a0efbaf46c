-- Transactions. A part of `lgoose.postgres`, kept with the first one.

local core = ...

local error, pairs, pcall, type = error, pairs, pcall, type
local run = core.keep("query").run

-- Ends the transaction by the outcome of its function.
local function finish(db, ok, value, problem, ...)
  if db.ok and db.status ~= "idle" then
    if ok and db.status == "failed" and (value or problem == nil) then
      value, problem = nil, db.failure
    end
    if not ok or (not value and problem ~= nil) then
      run(db, "ROLLBACK", nil, "ROLLBACK")
    else
      local done, uncommitted, detail = run(db, "COMMIT", nil, "COMMIT")
      if not done then return nil, uncommitted, detail end
    end
  end
  -- The error keeps its line.
  if not ok then error(value, 0) end
  if not db.ok and (value or problem == nil) then return nil, db.error end
  if value == nil and problem == nil then return true end
  return value, problem, ...
end

local function transact(db, fn, begin)
  local began, problem, detail = run(db, "BEGIN", nil, begin)
  if not began then return nil, problem, detail end
  return finish(db, pcall(fn, db))
end

local function are_options(options)
  if type(options) ~= "table" then return false end
  for name, value in pairs(options) do
    if name ~= "begin" and name ~= "name" or type(value) ~= "string" then return false end
  end
  return true
end

return function(db, fn, options)
  if type(fn) ~= "function" then error("db:transaction takes a function: db:transaction(function() … end)", 2) end
  options = options or {}
  if not are_options(options) then
    core.load "check"("db:transaction", options, "begin, name", 2)
    for key, value in pairs(options) do
      if type(value) ~= "string" then error("db:transaction: option '" .. key .. "' must be a string, not " .. type(value), 2) end
    end
  end
  local user, name, begin = db.plan_user, options.name, options.begin or "BEGIN"
  if db.ok and db.status ~= "idle" then
    -- The plan may have left an iteration in the middle of one.
    if not db.began_in or db.began_in == user.iteration then
      error("db:transaction: a transaction is open on this connection; use SAVEPOINT within it", 2)
    end
    run(db, "ROLLBACK", nil, "ROLLBACK")
  end
  db.began_in = user.iteration
  if not name then return transact(db, fn, begin) end
  return user:transaction(name, function() return transact(db, fn, begin) end)
end
