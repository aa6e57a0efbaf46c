-- Shows a script for wrk as a plan: examples/from/post.wrk, hook by hook.

plan { host = "demo:api", users = 10, hatch_rate = 1000, run_time = "10s" } -- -c 10 -d 10s

-- delay(), in seconds here
task { wait = { 0.01, 0.05 }, function(user)
  -- wrk.method, wrk.headers, wrk.body, request()
  user:post("/api/login", '{"username":"user7","password":"12345"}', {
    headers = { ["content-type"] = "application/json" },
    expect = { status = 200, text = "token" }, -- response()
  })
end }

-- lgoose examples/from/wrk.lua
