-- Pipelines of commands. A part of `lgoose.redis`, kept with the first one.

local core = ...

local redis = core.keep "commands"
local error, type = error, type

return function(db, commands, options)
  if type(commands) ~= "table" or type(commands[1]) ~= "table" then
    error('db:pipeline takes a list of commands: { { "SET", "a", 1 }, { "GET", "a" } }', 2)
  end
  local texts = {}
  for i = 1, #commands do
    local command = commands[i]
    if type(command) ~= "table" then error("db:pipeline: command " .. i .. " must be a list", 2) end
    redis.encode(texts, "db:pipeline", 2, #command, table.unpack(command))
  end
  local name = options and options.name or "pipeline"
  return db.plan_user:timed(name, function()
    local replies, problem = redis.exchange(db, { table.concat(texts) }, #commands)
    if not replies then return nil, problem end
    local failed
    for i = 1, #replies do
      if redis.is_error(replies[i]) then
        failed = failed or replies[i][1]
      end
    end
    if failed then return nil, failed end
    return replies
  end, db.row)
end
