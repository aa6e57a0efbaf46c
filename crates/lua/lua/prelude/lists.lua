-- Requests side by side: user:fetch and user:batch, and the lists of their responses. A part of the prelude.

local host, H, fail, User, _, response_meta, live = ...

local next, rawget, rawlen, setmetatable = next, rawget, rawlen, setmetatable
local yield = yield
local FETCH, BATCH = host("op:fetch"), host("op:batch")

-- A list of responses becomes real when it is first looked at: pages fetch many assets that no plan reads. Until then
-- `unread` is their number.
local function materialise(list)
  local slot, count = list.slot, list.unread
  list.slot, list.unread = nil, nil
  for i = 1, count do
    local address = slot + (i - 1 << 32)
    local status = H.response_field(address, "status")
    list[i] = setmetatable({ status = status, slot = address, list = list }, response_meta)
  end
  return list
end

local list_meta = {
  __metatable = false,
  __len = function(list)
    return rawget(list, "unread") or rawlen(list)
  end,
  __index = function(list, key)
    if rawget(list, "unread") then return rawget(materialise(list), key) end
  end,
  __pairs = function(list)
    if rawget(list, "unread") then materialise(list) end
    return next, list
  end,
}

-- `failed` says whether one of them has failed; `user:fetch` has one line for all.
local function receive_list(slot, count, failed)
  if failed then H.note_line() end
  if not slot then fail(count) end
  local list = setmetatable({ slot = slot, unread = count }, list_meta)
  live[slot] = list
  return list
end

function User.fetch(_, urls, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  return receive_list(yield(FETCH, urls, options))
end

function User.batch(_, requests, more)
  if more ~= nil then fail(H.surplus(more)) end
  return receive_list(yield(BATCH, requests))
end
