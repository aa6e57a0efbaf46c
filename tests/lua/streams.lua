-- Responses that are read while they come: events, lines and chunks.

local test = require "test"
local same, raises = test.same, test.raises
local gaps, counted_gaps = metric.trend "gaps of beside", metric.trend "gaps of counted"

task { "events", sequence = 1, function(user)
  local stream = user:get("/events/5", { stream = true, name = "events" })
  same(stream.status, 200, "the head is there")
  same(stream.ok, true, "so far")
  same(stream.headers["content-type"], "text/event-stream", "headers")
  same(stream.headers["X-Part"], "one, two", "in any case, joined")
  local count, before = 0, 0
  for event in stream:events() do
    count = count + 1
    same(event.name, "tick", "its name")
    same(event.id, tostring(count), "its id")
    same(event.data, ('{"n":%d,\n"last":%s}'):format(count, count == 5), "its data")
    same(event:json().n, count, "as JSON")
    same(event:json "last", count == 5, "at a path")
    same(event.at >= before, true, "when it came")
    before = event.at
  end
  same(count, 5, "all of them")
  same(before >= 0.008, true, "not before it was sent: " .. before)
  same(stream.ok, true, "ok")
  same(stream.error, nil, "no error")
  same(stream:events()(), nil, "nothing more")
  stream:close()
end }

task { "lines and chunks", sequence = 2, function(user)
  local lines = {}
  for line in user:post("/events/1", nil, { stream = true, name = "lines" }):lines() do lines[#lines + 1] = line end
  same(table.concat(lines, "|"), 'id: 1|event: tick|data: {"n":1,|data: "last":true}|', "lines")
  local all = {}
  for chunk in user:get("/chunked", { stream = true, name = "chunks" }):chunks() do all[#all + 1] = chunk end
  same(table.concat(all), "first second third", "chunks")
  local sized = {}
  for chunk in user:get("/size/200000", { stream = true, name = "sized" }):chunks() do sized[#sized + 1] = chunk end
  same(#table.concat(sized), 200000, "a body of a known size")
  for _, path in ipairs { "/size/20000000", "/chunks/20000000" } do
    local bytes = 0
    for chunk in user:get(path, { stream = true, name = "large" }):chunks() do bytes = bytes + #chunk end
    same(bytes, 20000000, "however fast it comes: " .. path)
  end
  local page = user:get("/redirect/2", { stream = true, name = "redirected" })
  same(page:chunks()(), "arrived", "behind redirects")
  same(page:chunks()(), nil, "and no more")
  same(user:get("/redirect/1", { stream = true, max_redirects = 0, name = "not followed" }).status, 302, "the redirect")
end }

task { "what goes on beside", sequence = 3, function(user)
  local stream = user:get("/events/20", { stream = true, name = "beside" })
  same(user:get("/echo", { name = "page" }).status, 200, "another request")
  user:wait(0.1)
  local last
  for event in stream:events() do
    if last then gaps:add((event.at - last) * 1000) end
    last = event.at
  end
  local left = user:get("/events/1000", { stream = true, name = "closed" })
  same(user:get("/cookie/show", { name = "cookie" }).body, "stream=open", "the cookie of a head, while the stream goes on")
  user.cookies:clear()
  local events = left:events()
  events()
  left:close()
  same(user:get("/cookie/show", { name = "cookie" }).body, "", "it is stored once")
  same(left.ok, true, "a stream that the plan closes has not failed")
  user.data.kept = user:get("/events/3", { stream = true, name = "kept" })
end }

task { "what another task has begun", sequence = 4, function(user)
  local count = 0
  for _ in user.data.kept:events() do count = count + 1 end
  same(count, 3, "it goes on")
  user:get("/events/100000", { stream = true, name = "of the user" })
end }

task { "what fails", sequence = 5, function(user)
  local cut = user:get("/events-cut/3", { stream = true, name = "cut" })
  local count = 0
  for event in cut:events() do count = event:json "n" end
  same(count, 3, "what came is there")
  same(cut.ok, false, "it failed")
  same(cut.error, "closed early", "why")
  local missing = user:get("/status/404", { stream = true, name = "missing" })
  same(missing:chunks()(), "status 404", "the body of an error")
  same(missing:chunks()(), nil, "its end")
  same(missing.error:find("404", 1, true) ~= nil, true, "its status")
  local silent = user:get("/hold", { stream = true, timeout = 0.05, name = "silent" })
  same(silent.status, 0, "no head")
  same(silent.error, "timeout", "nothing came")
  local expected = user:get("/events/1", { stream = true, name = "unexpected", expect = { status = 201 } })
  for _ in expected:events() do end
  same(expected.ok, false, "judged at the end")
  for name, expected in pairs {
    ["too few"] = { { min_events = 4 }, "expected at least 4 events, got 3" },
    ["another last"] = { { last = "[DONE]" }, "expected the last event '[DONE]', got '{\"n\":3," },
    ["as expected"] = { { min_events = 3, last = '{"n":3,\n"last":true}' } },
  } do
    local stream = user:get("/events/3", { stream = true, name = name, expect = expected[1] })
    for _ in stream:events() do end
    same(stream.ok, not expected[2], name)
    if expected[2] then same(stream.error:sub(1, #expected[2]), expected[2], name) end
  end
  local none = user:get("/events/3", { stream = true, name = "none taken", expect = { last = "x" } })
  none:close()
  same(none.error, "expected the last event 'x', got none", "none taken")
  local flood, size = user:get("/size/300000", { stream = true, max_buffer = 1000, name = "flood" }), 0
  user:wait(0.05)
  for chunk in flood:chunks() do size = size + #chunk end
  same(size, 300000, "a slow reader slows the server")
  local long = user:get("/size/300000", { stream = true, max_buffer = 1000, name = "long" })
  for _ in long:lines() do end
  same(long.error:find("a message of the stream is longer than", 1, true) ~= nil, true, long.error)
end }

task { "events that count", sequence = 6, function(user)
  local stream = user:get("/events/6", { stream = true, name = "counted" })
  local seen, ends, last = 0, 0, nil
  local events = stream:events {
    counts = function(event) return event:json "n" % 2 == 0 end,
    at_end = function() ends = ends + 1 end,
  }
  for event in events do
    seen = seen + 1
    same(event:json "n", seen, "the loop has all of them")
    if seen % 2 == 0 then
      if last then counted_gaps:add((event.at - last) * 1000) end
      last = event.at
    end
  end
  same(seen, 6, "all")
  same(events(), nil, "nothing more")
  same(ends, 1, "at the end, once")
  same(stream.ok, true, "no failure")
  local none = user:get("/events/2", { stream = true, name = "none counts" })
  for _ in none:events { counts = function() return false end } do end
  local refused = user:get("/events/2", { stream = true, name = "refused" })
  for _ in refused:events { at_end = function() refused:fail "two are too few" end } do end
  same(refused.ok, false, "the plan's verdict")
  same(refused.error, "two are too few", "its reason")
  raises("is counted already", refused.fail, refused, "late")
  local lines = user:get("/events/1", { stream = true, name = "lines that count" })
  local data = lines:lines { counts = function(line) return line:find "^data" end }
  for _ in data do end
  raises("unknown option 'count' in stream:chunks", lines.chunks, lines, { count = print })
  local raised = user:get("/events/2", { stream = true, name = "raised" }):events { counts = function() error "no event" end }
  raises("no event", raised)
end }

task { "events of a path", sequence = 7, function(user)
  local count, closed = 0, nil
  for event in user:events("/events/3", { name = "source" }) do count = count + event:json "n" end
  same(count, 6, "without reconnect, those of one connection")
  for event in user:events("/events/100000", { name = "left" }) do
    closed = event.id
    break
  end
  same(closed, "1", "left by break")
  same(user:events("/echo", { name = "no events" })(), nil, "a page")
end }

task { "mistakes", sequence = 8, function(user)
  local stream = user:get("/events/1", { stream = true, name = "events" })
  raises("'stream.event' does not exist; did you mean 'events'?", function() return stream.event end)
  raises("unknown option 'count' in stream:events; did you mean 'counts'?", stream.events, stream, { count = print })
  raises("option 'counts' must be a function, not a boolean", stream.events, stream, { counts = true })
  raises("the options of stream:events must be a table such as", stream.events, stream, "counts")
  raises("its 'expect' may have 'status', 'header', 'min_events' and 'last'", user.get, user, "/", { stream = true, expect = { title = "a" } })
  raises("'min_events' and 'last' of 'expect' are for a stream", user.get, user, "/", { expect = { last = "a" } })
  raises("'expect.min_events' must be a number of at least 1", user.get, user, "/", { stream = true, expect = { min_events = 0 } })
  raises("option 'reconnect' must be true or false", user.events, user, "/", { reconnect = 3 })
  raises("the options of user:events are a table", user.events, user, "/", "x")
  raises("unknown option 'reconect'", user.events, user, "/", { reconect = true })
  raises("this request has no body", user.events, user, "/", nil, {})
  raises("'discard' is for responses that are kept", user.get, user, "/", { stream = true, discard = true })
  raises("'max_buffer' is for a stream", user.get, user, "/", { max_buffer = 10 })
  raises("a number of bytes from 1 to 67108864", user.get, user, "/", { stream = true, max_buffer = 0 })
  raises("option 'stream' must be true or false", user.get, user, "/", { stream = "yes" })
  raises("a stream is the response to one request", user.fetch, user, { "/echo" }, { stream = true })
  raises("a stream is the response to one request", user.batch, user, { { path = "/echo", stream = true } })
  stream:close()
end }
