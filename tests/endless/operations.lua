-- Every function that a plan has, each for a task that does nothing else: `run` is given what `prepare` returns, or else `top` at
-- the top level. Most are over at once.

local function get(user) return user:get "/" end
local function text() return "a" end
local function page() return html.parse '<title>a</title><p class="b">c</p><form action="/"><input name="d"></form>' end
local function document() return xml.parse "<a><b c='d'>e</b></a>" end
local function element() return page():css("p")[1] end
local function pattern() return regex "(a)" end
local function rows() return data.lines "rows.txt" end

local function socket(user)
  local closed = user:websocket "/api/chat"
  closed:close()
  return closed
end

local function message(user) return user:websocket("/api/chat"):ask({ type = "ping", id = 1 }, { name = "ping" }) end

local function stream(user)
  local closed = user:get("/api/orders/events", { stream = true })
  closed:close()
  return closed
end

local function event(user)
  for first in user:events "/api/orders/events" do return first end
end

local function net_socket(user)
  local closed = user:tcp()
  closed:close()
  return closed
end

local function call(user)
  local closed = user:grpc_stream "shop.v1.Orders/Watch"
  closed:close()
  return closed
end

local function job(user)
  local ended = user:spawn(function() end)
  ended:join()
  return ended
end

local shared = require "lgoose.shared"
local function counter() return shared.counter "numbers" end
local function queue() return shared.queue "values" end
local function map() return shared.map "values" end

return {
  -- user
  ["User:get"] = { run = get },
  ["User:head"] = { run = function(user) user:head "/" end },
  ["User:delete"] = { run = function(user) user:delete "/api/orders/1" end },
  ["User:options"] = { run = function(user) user:options "/" end },
  ["User:post"] = { run = function(user) user:post("/login", "a") end },
  ["User:put"] = { run = function(user) user:put("/", "a") end },
  ["User:patch"] = { run = function(user) user:patch("/", "a") end },
  ["User:request"] = { run = function(user) user:request { path = "/" } end },
  ["User:fetch"] = { run = function(user) user:fetch {} end },
  ["User:batch"] = { run = function(user) user:batch {} end },
  ["User:submit"] = { prepare = function() return page():form() end, run = function(user, form) user:submit(form) end },
  ["User:retry"] = { run = function(user) user:retry { get } end },
  ["User:events"] = { run = function(user)
    for _ in user:events "/" do end
  end },
  ["User:websocket"] = { run = function(user) user:websocket "/" end },
  ["User:spawn"] = { run = function(user) user:spawn(function() end) end },
  ["User:tcp"] = { run = function(user) user:tcp():close() end },
  ["User:tls"] = { run = function(user) user:tls() end },
  ["User:udp"] = { run = function(user) user:udp():close() end },
  ["User:timed"] = { run = function(user) user:timed("timed", function() return 1 end) end },
  ["User:record"] = { run = function(user) user:record { name = "recorded", time = 0.1 } end },
  ["User:grpc"] = { top = grpc.reflect, run = function(user) user:grpc("shop.v1.Orders/Get", { id = -1 }) end },
  ["User:grpc_stream"] = { top = grpc.reflect, run = function(user) user:grpc_stream("shop.v1.Orders/Watch"):close() end },
  ["User:transaction"] = { run = function(user) user:transaction("transaction", function() end) end },
  ["User:set_host"] = { run = function(user) user:set_host(user.host) end },
  ["User:set_header"] = { run = function(user) user:set_header("a", "b") end },
  ["User:basic_auth"] = { run = function(user) user:basic_auth("a", "b") end },
  ["User:digest_auth"] = { run = function(user) user:digest_auth("a", "b") end },
  ["User:bearer"] = { run = function(user) user:bearer "a" end },
  ["User:wait"] = { run = function(user) user:wait(0) end },
  ["User:exit_iteration"] = { run = function(user) user:exit_iteration() end },
  ["User:stop"] = { run = function(user) user:stop() end },
  ["User:log"] = { run = function(user) user:log "a" end },
  ["Cookies:get"] = { run = function(user) user.cookies:get "a" end },
  ["Cookies:set"] = { run = function(user) user.cookies:set("a", "b") end },
  ["Cookies:list"] = { run = function(user) user.cookies:list() end },
  ["Cookies:delete"] = { run = function(user) user.cookies:delete "a" end },
  ["Cookies:clear"] = { run = function(user) user.cookies:clear() end },
  ["Job:join"] = { prepare = job, run = function(_, ended) ended:join() end },
  ["Job:cancel"] = { prepare = job, run = function(_, ended) ended:cancel() end },

  -- the libraries
  require = { run = function() require "operations" end },
  env = { run = function() env("A", "b") end },
  check = { run = function() check(false, "a") end },
  regex = { run = pattern },
  ["Regex:match"] = { top = pattern, run = function(_, a) a:match "a" end },
  ["Regex:matches"] = { top = pattern, run = function(_, a) a:matches "a" end },
  ["Regex:test"] = { top = pattern, run = function(_, a) a:test "a" end },
  ["Regex:replace"] = { top = pattern, run = function(_, a) a:replace("a", "b") end },
  ["grpc.encode"] = { run = function() grpc.encode("google.protobuf.Duration", 1) end },
  ["grpc.decode"] = { run = function() grpc.decode("google.protobuf.Duration", "\8\1") end },
  ["json.encode"] = { run = function() json.encode { a = 1 } end },
  ["json.array"] = { run = function() json.array {} end },
  ["json.copy"] = { run = function() json.copy { a = 1 } end },
  ["json.get"] = { run = function() json.get({ a = 1 }, "a") end },
  ["json.decode"] = { run = function() json.decode '{"a":1}' end },
  ["html.parse"] = { run = page },
  ["Page:title"] = { top = page, run = function(_, a) a:title() end },
  ["Page:text"] = { top = page, run = function(_, a) a:text "p" end },
  ["Page:attr"] = { top = page, run = function(_, a) a:attr("p", "class") end },
  ["Page:css"] = { top = page, run = function(_, a) a:css "p" end },
  ["Page:form"] = { top = page, run = function(_, a) a:form() end },
  ["Element:text"] = { top = element, run = function(_, a) a:text() end },
  ["Element:attr"] = { top = element, run = function(_, a) a:attr "class" end },
  ["Element:css"] = { top = element, run = function(_, a) a:css "b" end },
  ["Element:html"] = { top = element, run = function(_, a) a:html() end },
  ["xml.parse"] = { run = document },
  ["XmlDocument:css"] = { top = document, run = function(_, a) a:css "b" end },
  ["XmlDocument:text"] = { top = document, run = function(_, a) a:text "b" end },
  ["XmlDocument:attr"] = { top = document, run = function(_, a) a:attr("b", "c") end },
  ["url.encode"] = { run = function() url.encode "a" end },
  ["url.decode"] = { run = function() url.decode "a" end },
  ["url.join"] = { run = function() url.join("http://127.0.0.1/", "a") end },
  ["url.parse"] = { run = function() url.parse "http://127.0.0.1/" end },
  ["url.query"] = { run = function() url.query { a = 1 } end },
  ["base64.encode"] = { run = function() base64.encode "a" end },
  ["base64.decode"] = { run = function() base64.decode "YQ==" end },
  ["base32.encode"] = { run = function() base32.encode "a" end },
  ["base32.decode"] = { run = function() base32.decode "ME======" end },
  ["hex.encode"] = { run = function() hex.encode "a" end },
  ["hex.decode"] = { run = function() hex.decode "61" end },
  ["hash.md5"] = { run = function() hash.md5 "a" end },
  ["hash.sha1"] = { run = function() hash.sha1 "a" end },
  ["hash.sha256"] = { run = function() hash.sha256 "a" end },
  ["hash.sha384"] = { run = function() hash.sha384 "a" end },
  ["hash.sha512"] = { run = function() hash.sha512 "a" end },
  ["hash.hmac_sha1"] = { run = function() hash.hmac_sha1("a", "b") end },
  ["hash.pbkdf2"] = { run = function() hash.pbkdf2("a", "b", 1000) end },
  ["hash.hmac_sha256"] = { run = function() hash.hmac_sha256("a", "b") end },
  ["hash.hmac_sha384"] = { run = function() hash.hmac_sha384("a", "b") end },
  ["hash.hmac_sha512"] = { run = function() hash.hmac_sha512("a", "b") end },
  ["hash.sign"] = { run = function() hash.sign("RS256", "no key", "a") end },
  ["random.int"] = { run = function() random.int(1, 2) end },
  ["random.float"] = { run = function() random.float() end },
  ["random.choice"] = { run = function() random.choice { 1, 2 } end },
  ["random.sample"] = { run = function() random.sample({ 1, 2 }, 1) end },
  ["random.shuffle"] = { run = function() random.shuffle { 1, 2 } end },
  ["random.bytes"] = { run = function() random.bytes(1) end },
  ["random.weighted"] = { run = function() random.weighted { a = 1 } end },
  ["random.key"] = { run = function() random.key { a = 1 } end },
  ["random.exponential"] = { run = function() random.exponential(1) end },
  ["random.normal"] = { run = function() random.normal(1, 2) end },
  ["env.number"] = { run = function() env.number("NUMBER", 1) end },
  ["env.bool"] = { run = function() env.bool("FLAG", true) end },
  ["env.list"] = { run = function() env.list("LIST", {}) end },
  ["random.string"] = { run = function() random.string(1) end },
  ["random.words"] = { run = function() random.words(1) end },
  ["random.uuid"] = { run = function() random.uuid() end },
  ["random.name"] = { run = function() random.name() end },
  ["random.email"] = { run = function() random.email() end },
  ["random.phone"] = { run = function() random.phone() end },
  ["data.csv"] = { run = function() data.csv "rows.txt" end },
  ["data.json"] = { run = function() data.json "rows.txt" end },
  ["data.json5"] = { run = function() data.json5 "rows.txt" end },
  ["data.yaml"] = { run = function() data.yaml "rows.txt" end },
  ["data.jsonl"] = { run = function() data.jsonl "rows.txt" end },
  ["data.lines"] = { run = rows },
  ["data.text"] = { run = function() data.text "rows.txt" end },
  ["data.bytes"] = { run = function() data.bytes "rows.txt" end },
  file = { run = function() file "rows.txt" end },
  ["Rows:next"] = { top = rows, run = function(_, a) a:next() end },
  ["Rows:get"] = { top = rows, run = function(_, a) a:get(1) end },
  ["metric.counter"] = { run = function() metric.counter "counter" end },
  ["metric.gauge"] = { run = function() metric.gauge "gauge" end },
  ["metric.rate"] = { run = function() metric.rate "rate" end },
  ["metric.trend"] = { run = function() metric.trend "trend" end },
  ["Metric:add"] = { top = function() return metric.trend "trend" end, run = function(_, a) a:add(1) end },
  ["run.stop"] = { run = function() run.stop "at once" end },
  ["run.fail"] = { run = function() run.fail "at once" end },
  ["run.elapsed"] = { run = function() run.elapsed() end },
  ["run.users"] = { run = function() run.users() end },
  ["run.ready"] = { run = function() run.ready() end },
  ["log.debug"] = { run = function() log.debug "a" end },
  ["log.info"] = { run = function() log.info "a" end },
  ["log.warn"] = { run = function() log.warn "a" end },
  ["log.error"] = { run = function() log.error "a" end },
  ["wait.between"] = { run = function(user) user:wait(wait.between(0, 0)) end },
  ["wait.constant"] = { run = function(user) user:wait(wait.constant(0)) end },
  ["wait.normal"] = { run = function(user) user:wait(wait.normal(0, 0)) end },
  ["wait.exponential"] = { run = function(user) user:wait(wait.exponential(0)) end },
  ["wait.pacing"] = { run = function(user) user:wait(wait.pacing(0)) end },
  ["wait.tick"] = { run = function(user) user:wait(wait.tick(0)) end },
  ["wait.throughput"] = { run = function(user) user:wait(wait.throughput(1e9)) end },
  ["time.now"] = { run = function() time.now() end },
  ["time.ms"] = { run = function() time.ms() end },
  ["time.iso"] = { run = function() time.iso() end },
  ["time.http"] = { run = function() time.http() end },
  ["time.format"] = { run = function() time.format "%Y" end },
  ["time.parse"] = { run = function() time.parse "2026-11-28" end },
  ["os.time"] = { run = function() os.time() end },
  ["os.clock"] = { run = function() os.clock() end },
  ["os.date"] = { run = function() os.date() end },

  -- what a response has
  ["Response:json"] = { prepare = get, run = function(_, a) a:json() end },
  ["Response:title"] = { prepare = get, run = function(_, a) a:title() end },
  ["Response:text"] = { prepare = get, run = function(_, a) a:text "h1" end },
  ["Response:attr"] = { prepare = get, run = function(_, a) a:attr("a", "href") end },
  ["Response:css"] = { prepare = get, run = function(_, a) a:css "a" end },
  ["Response:form"] = { prepare = get, run = function(_, a) a:form() end },
  ["Response:links"] = { prepare = get, run = function(_, a) a:links() end },
  ["Response:assets"] = { prepare = get, run = function(_, a) a:assets() end },
  ["Response:match"] = { prepare = get, run = function(_, a) a:match "a" end },
  ["Response:matches"] = { prepare = get, run = function(_, a) a:matches "a" end },
  ["Response:contains"] = { prepare = get, run = function(_, a) a:contains "a" end },
  ["Response:header"] = { prepare = get, run = function(_, a) a:header "date" end },
  ["Response:fail"] = { prepare = get, run = function(_, a) a:fail "late" end },
  ["Response:pass"] = { prepare = get, run = function(_, a) a:pass() end },
  ["Response:ensure"] = { prepare = get, run = function(_, a) a:ensure() end },

  -- what is closed
  ["Stream:events"] = { prepare = stream, run = function(_, a)
    for _ in a:events() do end
  end },
  ["Stream:lines"] = { prepare = stream, run = function(_, a)
    for _ in a:lines() do end
  end },
  ["Stream:chunks"] = { prepare = stream, run = function(_, a)
    for _ in a:chunks() do end
  end },
  ["Stream:fail"] = { prepare = stream, run = function(_, a) a:fail "late" end },
  ["Stream:close"] = { prepare = stream, run = function(_, a) a:close() end },
  ["Event:json"] = { prepare = event, run = function(_, a) a:json() end },
  ["Socket:send"] = { prepare = socket, run = function(_, a) a:send "a" end },
  ["Socket:send_binary"] = { prepare = socket, run = function(_, a) a:send_binary "a" end },
  ["Socket:receive"] = { prepare = socket, run = function(_, a) a:receive() end },
  ["Socket:ping"] = { prepare = socket, run = function(_, a) a:ping() end },
  ["Socket:ask"] = { prepare = socket, run = function(_, a) a:ask "a" end },
  ["Socket:messages"] = { prepare = socket, run = function(_, a)
    for _ in a:messages() do end
  end },
  ["Socket:on_message"] = { prepare = socket, run = function(_, a) a:on_message(text) end },
  ["Socket:close"] = { prepare = socket, run = function(_, a) a:close() end },
  ["Message:json"] = { prepare = message, run = function(_, a) a:json() end },
  ["NetSocket:send"] = { prepare = net_socket, run = function(_, a) a:send "a" end },
  ["NetSocket:receive"] = { prepare = net_socket, run = function(_, a) a:receive "line" end },
  ["NetSocket:start_tls"] = { prepare = net_socket, run = function(_, a) a:start_tls() end },
  ["NetSocket:close"] = { prepare = net_socket, run = function(_, a) a:close() end },
  ["Call:send"] = { top = grpc.reflect, prepare = call, run = function(_, a) a:send { id = 1 } end },
  ["Call:receive"] = { top = grpc.reflect, prepare = call, run = function(_, a) a:receive() end },
  ["Call:messages"] = { top = grpc.reflect, prepare = call, run = function(_, a)
    for _ in a:messages() do end
  end },
  ["Call:close_send"] = { top = grpc.reflect, prepare = call, run = function(_, a) a:close_send() end },
  ["Call:close"] = { top = grpc.reflect, prepare = call, run = function(_, a) a:close() end },

  -- what belongs to the top level, and raises in a task
  plan = { run = function() plan {} end },
  scenario = { run = function() scenario { "a" } end },
  task = { run = function() task { text } end },
  on = { run = function() on("request", text) end },
  ["grpc.load"] = { run = function() grpc.load "a.proto" end },
  ["grpc.reflect"] = { run = function() grpc.reflect() end },

  -- lgoose.shared
  ["shared.counter"] = { run = counter },
  ["shared.queue"] = { run = queue },
  ["shared.map"] = { run = map },
  ["shared.Run.counter"] = { run = function() shared.run.counter("numbers"):incr() end },
  ["shared.Run.queue"] = { run = function() shared.run.queue("values"):take() end },
  ["shared.Run.map"] = { run = function() shared.run.map("values"):get "a" end },
  ["shared.Counter.incr"] = { run = function() counter():incr() end },
  ["shared.Counter.get"] = { run = function() counter():get() end },
  ["shared.Queue.put"] = { run = function() queue():put(1) end },
  ["shared.Queue.take"] = { run = function() queue():take(0) end },
  ["shared.Queue.size"] = { run = function() queue():size() end },
  ["shared.Map.put"] = { run = function() map():put("a", 1) end },
  ["shared.Map.get"] = { run = function() map():get "a" end },
  ["shared.Map.get_or"] = { run = function() map():get_or("a", text, 0) end },
  ["shared.Map.remove"] = { run = function() map():remove "a" end },
  ["shared.Map.size"] = { run = function() map():size() end },
}
