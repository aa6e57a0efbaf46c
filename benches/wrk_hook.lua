-- wrk with Lua in the way of every request and every response, as a scripted test needs it.
--   wrk -s wrk_hook.lua URL                              the path of the URL
--   wrk -s wrk_hook.lua URL -- 15:/ '10:/node/{1-9999}'  a mix: so many of each, {A-B} is a random number

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  unexpected = 0
  next_path = 0
  paths = {}
  for _, arg in ipairs(args) do
    local count, path = arg:match "^(%d+):(.*)$"
    local before, low, high, after = path:match "^(.-){(%d+)%-(%d+)}(.*)$"
    for _ = 1, tonumber(count) do
      paths[#paths + 1] = before and { before, tonumber(low), tonumber(high), after } or path
    end
  end
  if #paths == 0 then paths[1] = wrk.path end
  for i = #paths, 2, -1 do
    local j = math.random(i)
    paths[i], paths[j] = paths[j], paths[i]
  end
end

function request()
  next_path = next_path % #paths + 1
  local path = paths[next_path]
  if type(path) == "table" then path = path[1] .. math.random(path[2], path[3]) .. path[4] end
  return wrk.format("GET", path)
end

function response(status)
  if status ~= 200 then unexpected = unexpected + 1 end
end

function done()
  local sum = 0
  for _, thread in ipairs(threads) do
    sum = sum + thread:get "unexpected"
  end
  print("unexpected responses: " .. sum)
end
