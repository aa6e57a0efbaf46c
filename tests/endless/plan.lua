-- One user that does a single thing without end, as OPERATION or PLACE names it, and an innocent one on the same thread. The
-- innocent one ends the run once the other has begun and it has had some responses itself.

local shared = require "lgoose.shared"
local operation = require("operations")[env("OPERATION", "")]
local place = require("places")[env("PLACE", "")]
local ends_run = env("ENDS_RUN", "yes") == "yes"

local options = { host = "demo:api" }
for name, value in pairs((operation or place).plan or {}) do options[name] = value end
plan(options)

local function begins() shared.counter("begun"):incr() end

if operation then
  local top = operation.top and operation.top()
  local value
  scenario { "alone", users = 1, hatch_rate = 1000,
    task { "prepare", on_start = true, function(user)
      value = operation.prepare and operation.prepare(user) or top
      begins()
    end },
    task { "alone", function(user) operation.run(user, value) end },
  }
else
  scenario(place.scenario(begins))
end

local responses = 0
scenario { "innocent", users = 1, hatch_rate = 1000,
  task { "innocent", wait = 0.001, function(user)
    user:get("/", { name = "innocent" })
    if shared.counter("begun"):get() == 0 then return end
    responses = responses + 1
    if responses == 1 then user:log "both are at work" end
    if responses == 5 and ends_run then run.stop "it is enough" end
  end },
}
