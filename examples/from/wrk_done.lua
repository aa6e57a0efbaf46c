-- Shows a script for wrk that ends in done() as a plan: examples/from/done.wrk, hook by hook.

plan { host = "demo:api", users = 10, hatch_rate = 1000, run_time = "10s" } -- -c 10 -d 10s

-- setup(), init(): a counter that all threads add to
local missing = metric.counter "missing"

task { function(user)
  -- request()
  local product = "/api/products/" .. random.int(1, 110)
  local answer = user:get(product, { name = "product", expect = { status = { 200, 404 } } })
  if answer.status == 404 then missing:add(1) end -- response()
end }

-- done(summary, latency)
on("report", function(report, percentile)
  local all, gone = report.aggregated, 0
  for _, counter in ipairs(report.metrics) do
    if counter.name == "missing" then gone = counter.value end
  end
  local line = ("%d requests in %.1f s, p50 %.2f ms, p99.5 %.2f ms, stdev %.2f ms, %d missing\n"):format(
    all.count, report.elapsed_s, all.latency_ms.p50, percentile(all, 99.5), all.latency_ms.stdev, gone)
  local file = env("SUMMARY", "")
  return file == "" and line or { [file] = line }
end)

-- lgoose examples/from/wrk_done.lua
