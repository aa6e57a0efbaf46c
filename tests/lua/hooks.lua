-- The functions that see each request and the report.

local test = require "test"
local same, raises = test.same, test.raises
local shared = require "lgoose.shared"

local seen, odd = metric.counter "seen", metric.trend "time seen"
local last = shared.map "last"

on("request", function(request)
  seen:add(1)
  odd:add(request.time)
  same(request.scenario == "s" or request.scenario == "test_start", true, "scenario")
  same(request.time > 0 and request.size > 0, true, "time and size")
  same(request.redirects, request.name == "moved" and 1 or 0, "redirects")
  last:put(request.name, request)
  raises("user", function() return user end)
end)

on("report", function(report, percentile)
  same(report.aggregated.count, 6, "requests")
  same(report.verdict.exit_code, 1, "the verdict")
  same(report.ending.threshold, nil, "what is null is nil")
  same(last:get("one").status, 200, "what users shared")
  local all = report.aggregated
  for percent, key in pairs { [50] = "p50", [99] = "p99", [100] = "max" } do
    same(percentile(all, percent), all.latency_ms[key], key)
    same(percentile(all, percent, "ok"), all.latency_ok_ms[key], "ok " .. key)
  end
  same(percentile(all, 61.8) >= percentile(all, 50), true, "any other")
  same(all.latency_ms.stdev > 0, true, "the standard deviation")
  raises("from 0 to 100", function() percentile(all, 101) end)
  raises("figures with a histogram", function() percentile(report.tasks[1], 50) end)
  raises('is "ok"', function() percentile(all, 50, "bad") end)
  local lines = {}
  for _, row in ipairs(report.requests) do
    lines[#lines + 1] = row.method .. " " .. row.name .. ": " .. row.count
  end
  raises("belongs inside a task", run.elapsed)
  return { ["summary.txt"] = table.concat(lines, "\n") .. "\n", ["count.txt"] = tostring(report.aggregated.count) }
end)

on("test_start", function(user) user:get("/echo", { name = "start" }) end)

scenario { "s", task { "asks", sequence = 1, function(user)
  user:get("/echo", { name = "one" })
  same(last:get "one", nil, "not yet counted: the plan may still judge it")
  user:get("/status/503", { tags = { kind = "bad" } })
  user:get("/redirect/1", { name = "moved" })
  user:fetch({ "/echo?a", "/echo?b" }, { name = "beside" })
  user:get("/echo", { name = "judged" }):fail "not as it should be"
end }, task { "sees what was before", sequence = 2, function()
  local one, asked = last:get "one", last:get "asks"
  same(one.method .. one.task .. one.status, "GETasks200", "counted")
  same(one.ok, true, "good")
  same(asked.status, 503, "the row has the task's name")
  same(asked.ok, false, "bad")
  same(asked.error:find("503", 1, true) ~= nil, true, "why")
  same(asked.tags.kind, "bad", "its tags")
  same(last:get("moved").redirects, 1, "a redirect")
  same(last:get("judged").error, "not as it should be", "judged by the plan")
  same(last:get("beside").ok, true, "side by side")
  same(last:get("start").task, "test_start", "of an event")
end } }
