-- user:retry, which tries something until it succeeds. A part of the prelude.

local _, H, fail, User = ...

local next, tostring, type = next, tostring, type

local FORM = "user:retry { times = 3, wait = 1, function(user, attempt) return user:get(…) end }"

function User.retry(self, how, more)
  if more ~= nil then fail(H.surplus(more)) end
  local attempt = type(how) == "table" and how[1]
  if type(attempt) ~= "function" then fail("user:retry takes a table with a function: " .. FORM) end
  for key in next, how do
    if key ~= 1 and key ~= "times" and key ~= "wait" then
      fail("'" .. tostring(key) .. "' is unknown in user:retry; it has times, wait and a function: " .. FORM)
    end
  end
  local times, wait = how.times or 3, how.wait
  if type(times) ~= "number" or times < 1 or times % 1 ~= 0 then fail("'times' of user:retry must be a whole number from 1 on") end
  for count = 1, times do
    local response = attempt(self, count)
    if type(response) ~= "table" or type(response.pass) ~= "function" then
      fail("the function of user:retry must return a response: " .. FORM)
    end
    if response.ok or count == times then return response end
    -- It is tried again: only the last attempt decides.
    response:pass()
    H.repeated()
    if type(wait) == "table" then
      self:wait(wait[1], wait[2])
    elseif wait then
      self:wait(wait)
    end
  end
end
