-- Variables from outside and lines in the log.

local test = require "test"
local same = test.same

task { "env and log", function(user)
  same(env "LGOOSE_TEST_VARIABLE", "given", "from -e")
  same(env "HOME", "also given", "before the environment")
  assert(#env "PATH" > 0, "from the environment")
  same(env("LGOOSE_TEST_NOTHING", "default"), "default", "default")
  same(env "LGOOSE_TEST_NOTHING", nil, "nothing")
  log.debug "a debug line"
  log.info("an info line", 1)
  log.warn "a warn line"
  log.error "an error line"
  user:log "a line of the user"
  log.warn "a line\nWARN plan: and one that it forges\n"
  print("a printed line", 2)
end }
