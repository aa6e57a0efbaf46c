-- Requests side by side: user:fetch and user:batch, and the lists of their responses. A part of the prelude.

local host, H, fail, User, _, response_meta, live = ...

local next, rawget, rawlen, setmetatable = next, rawget, rawlen, setmetatable
local yield = coroutine.yield
local FETCH, BATCH = host("op:fetch"), host("op:batch")

-- A list of responses becomes real when it is first looked at: pages fetch many assets that no plan reads.
local function materialise(list)
  local slot, codes = list.slot, list.codes
  list.slot, list.codes = nil, nil
  for i = 1, #codes do
    list[i] = setmetatable({ status = codes[i], slot = slot + (i - 1 << 32), list = list }, response_meta)
  end
  return list
end

local list_meta = {
  __metatable = false,
  __len = function(list)
    local codes = rawget(list, "codes")
    return codes and #codes or rawlen(list)
  end,
  __index = function(list, key)
    if rawget(list, "codes") then return rawget(materialise(list), key) end
  end,
  __pairs = function(list)
    if rawget(list, "codes") then materialise(list) end
    return next, list
  end,
}

-- `first_failed` is the address of the first failed response, if any; `user:fetch` has one line for all.
local function receive_list(slot, codes, failed)
  if not slot then fail(codes) end
  local list = setmetatable({ slot = slot, codes = codes }, list_meta)
  live[slot] = list
  if failed then H.note_line(slot) end
  return list
end

function User.fetch(_, urls, options)
  return receive_list(yield(FETCH, urls, options))
end

function User.batch(_, requests)
  return receive_list(yield(BATCH, requests))
end
