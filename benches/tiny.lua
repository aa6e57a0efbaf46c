-- The smallest plan that checks something: one page, its status looked at. What lgoose itself costs.

task { "tiny", function(user)
  user:get("/", { expect = { status = 200 } })
end }

-- benches/cpu.sh runs it beside wrk.
