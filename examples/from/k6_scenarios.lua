-- Shows a k6 script with two executors as a plan: examples/from/k6_scenarios.js, part by part.

plan { host = env("SITE", "demo:api"), thresholds = {
  "failures < 1%", -- http_req_failed
  ["scenario=buyers"] = "p95 < 500ms", -- http_req_duration{scenario:buyers}
  ["phase=load, GET cart"] = "p99 < 800ms", -- http_req_duration{phase:load,name:cart}
} }

-- ramping-vus
scenario { "readers", stages = { "1s:4", "4s:4" },
  task { "read", wait = 0.5, function(user)
    local answers = user:batch { -- http.batch
      { path = "/", name = "front page" },
      { path = "/style.css", name = "asset" },
      { path = "/logo.svg", name = "asset" },
    }
    check(answers[1]:contains "Welcome", "is the shop")
  end },
}

-- constant-arrival-rate: startTime, duration, rate, preAllocatedVUs, tags
scenario { "buyers", start = "2s", run_time = "3s", rate = "20/s", max_users = 20, tags = { phase = "load" },
  task { "buy", function(user)
    user.cookies:clear() -- which k6 does before each iteration
    user.cookies:set("currency", "EUR") -- jar.set
    user:post("/login", nil, { name = "login", form = { username = "user7", password = "12345" } })
    check(user.cookies:get "session", "has a session") -- jar.cookiesForURL
    user:get("/account", { name = "cart", cookies = { campaign = "spring" } })
  end },
}

-- handleSummary
on("report", function(report)
  local summary, file = { requests = report.aggregated.count }, env("SUMMARY", "")
  for _, limit in ipairs(report.thresholds) do
    if limit.name == "scenario=buyers" then
      summary.buyers_p95_ms, summary.fast_enough = limit.value, limit.passed
    end
  end
  local text = json.encode(summary)
  return file == "" and text or { [file] = text }
end)

-- lgoose examples/from/k6_scenarios.lua
