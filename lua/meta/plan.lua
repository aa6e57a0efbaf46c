---@meta
-- What stands at the top level of a plan: plan, scenario, task, on. Read by editors, not by lgoose.

---A span of time: seconds as a number, or text such as "300s", "20m", "1h30m".
---@alias lgoose.Duration number|string
---Bytes as a number, or text such as "64MiB".
---@alias lgoose.Size integer|string
---A pause after a task: seconds, {from, to} in seconds, or made with `wait`.
---@alias lgoose.Wait number|number[]|lgoose.WaitRule
---@alias lgoose.TaskFunction fun(user: lgoose.User)

---Defaults of the plan. A flag of the same name (`run_time`: `--run-time`) or its `LGOOSE_*` goes before.
---@class lgoose.Plan
---@field host? string # base URL, or "demo:drupal", "demo:umami" or "demo:api" for a built-in site
---@field users? integer # users at the same time (default: number of cores)
---@field hatch_rate? number|string # users started per second (default: 1)
---@field startup_time? lgoose.Duration # start all users within this time instead of by hatch_rate
---@field run_time? lgoose.Duration # counted from the moment all users run (default: until Ctrl-C)
---@field stages? string[] # "5m:100" each: its time and the users at its end, or "5m:200/s" for a rate
---@field test_plan? string # the same as users,time: "10,5m;10,30m;0,1m"
---@field rate? number|string # iterations started per second, however long answers take
---@field max_users? integer # with a rate: users at the same time at most (default: 1000)
---@field arrivals? "even"|"poisson" # with a rate: at equal distances or at random (default: "even")
---@field iterations? integer # per user (default: no limit)
---@field shared_iterations? integer # of all users together: whoever is free begins the next (default: no limit)
---@field wait_factor? number # what every pause is multiplied by; 0 = no pauses (default: 1)
---@field scenarios? string[] # the scenarios that run, "*" stands for any text (default: all)
---@field tags? string|string[] # only the tasks that have one of these tags run, themselves or by their scenario (default: all)
---@field warmup? lgoose.Duration # keep the figures of this first time apart
---@field reset_stats? boolean # drop what was counted before all users had started (default: false)
---@field stop_timeout? lgoose.Duration # how long running tasks may take to finish after a stop (default: 30 s)
---@field setup_timeout? lgoose.Duration # how long `test_start` may take before it is cut off and the run does not start (default: 60 s)
---@field teardown_timeout? lgoose.Duration # how long `test_stop` may take before it is cut off (default: 60 s)
---@field throttle_requests? number|string # at most so many requests per second of all users together
---@field timeout? lgoose.Duration # of a request (default: 60 s)
---@field max_body? lgoose.Size # the largest body that is read (default: 64 MiB)
---@field headers? table<string, string> # sent with every request
---@field http? "1.1"|"2" # the only HTTP that is spoken (default: 2 where the server offers it over TLS)
---@field client? "direct"|"reqwest" # what sends the requests; reqwest costs more and can use proxies (default: "direct")
---@field proxy? string # URL of a proxy for everything (http, https, socks5, socks5h), "env" or "none" (default: "none")
---@field insecure? boolean # trust every certificate (default: false)
---@field ca? string # file (PEM) of the certificates to trust instead of the system's
---@field cert? string # file (PEM) of the certificate that is shown to servers that ask for one
---@field key? string # file (PEM) of its private key (default: in the file of `cert`)
---@field resolve? string[] # "HOST:PORT:ADDRESS" each: not looked up in DNS
---@field dns_ttl? lgoose.Duration # how long an answer of DNS is kept (default: the whole run)
---@field local_address? string # the address of this machine that connections come from
---@field no_keepalive? boolean # open a connection for each request (default: false)
---@field no_cookies? boolean # keep no cookies (default: false)
---@field max_redirects? integer # so many are followed and the next one is the answer, with its status (default: 10, and one more is a failure)
---@field referer? boolean # links, forms and assets of a page are asked for with its address, as browsers do (default: true)
---@field cache? boolean # users keep what a browser would not ask for again; counted apart, as 'cache: …' among the metrics (default: false)
---@field connections? "user"|"iteration" # how long a user keeps its connections (default: "user")
---@field sticky_follow? boolean # a user that is redirected to another host goes on there (default: false)
---@field trace? boolean # add a W3C traceparent to every request, so that the site's tracing finds it (default: false)
---@field trace_sample? string|number # the share of the traces that the site is asked to keep, such as "1%" or 0.01 (default: 1; without `trace` it turns that on)
---@field thresholds? string|table<integer|string, string|lgoose.Threshold> # limits that decide the exit code
---@field co_mitigation? "average"|"minimum"|"maximum"|"disabled" # also report latencies with what late users could not ask for (default: "average", shown where it makes a difference)
---@field fail_on_error? boolean # make the exit code 1 if any request or task failed (default: false)
---@field fail_on_saturation? boolean # make the exit code 1 if lgoose and not the site set the latency for a second or more (default: false)
---@field allow_short? boolean # let thresholds pass also in a run that is stopped before its planned end (default: false)
---@field only_summary? boolean # print the tables at the end only (default: false)
---@field request_log? string # a file, .csv or .jsonl, that gets a line for every request
---@field request_log_sorted? boolean # sort it by connection and time (default: false)
---@field task_log? string # a file that gets every run of a task or transaction
---@field error_log? string # a file that gets every request, task and transaction that failed
---@field debug_log? string # a file that gets failed requests with their headers and the start of the body
---@field status_codes? boolean # show the table of status codes also when all are the same (default: false)
---@field running_metrics? lgoose.Duration # how often the running figures are printed (default: 10 s)
---@field seed? integer # of all random choices (default: random, shown in the report)
---@field threads? integer # that drive users (default: number of cores)
---@field memory? integer|string # that lgoose may take, all users together, before it ends the run, as in "4GiB" (default: most of what the machine has)
---@field lua_memory? lgoose.Size # that a user's VM may take (default: 64 MiB, which only the flag can raise)
---@field lua_time? lgoose.Duration # that Lua may run without waiting (default: 1 s, which only the flag can raise)

---A limit is text: FIGURE, one of < <= > >=, and a number with its unit, such as "p95 < 300ms". In `thresholds`
---it is about all requests; under a name it is about that row of the report: `["GET /cart"] = "failures < 1%"`.
---A name is that of requests with or without their method, a task, a transaction, a check or a custom metric;
---`checks` is all checks together, and a label of workers (`["region=eu"]`) all their requests. A name that nothing
---has fails: "no data". Figures:
--- * of requests and tasks: p50 p75 p90 p95 p98 p99 p99.9 p99.99 avg min max (in us, ms, s), failures (in %, or as a
---   number), rate (in /s), count
--- * of checks: checks (in %), failures, rate (in /s), count
--- * of metrics, without a unit: counter value; gauge value, avg, min, max; trend as of requests; rate in %
---A table of such texts may say more of them.
---@class lgoose.Threshold
---@field [integer] string
---@field abort? boolean # stop the run when it is broken (default: false)
---@field after? lgoose.Duration # leave out the first so much of the run, for `abort` and `during` (default: nothing)
---@field during? lgoose.Duration # every stretch of this length must keep it, not only the run as a whole

---Sets defaults of this plan's runs.
---@param options lgoose.Plan
function plan(options) end

---A kind of user: its name first, then its tasks. Scenarios share the load of the run, by weight, but for those that have
---a load of their own: one of `rate`, `max_users`, `arrivals`, `stages`, `hatch_rate`, `startup_time`, `run_time` and
---`start` makes it so, and then `users`, `rate` or `stages` says how much. Open and closed loads run side by side.
---@class lgoose.Scenario
---@field [1] string # the name, unique in the plan
---@field [integer] lgoose.Task|string
---@field weight? integer # share of the users relative to other scenarios (default: 1)
---@field tags? string|string[] # what '--tags' may choose it by, with all its tasks (default: none)
---@field users? integer # a fixed number of the run's users instead of a weight; with a load of its own, its users
---@field rate? number|string # its own iterations started per second, however long answers take
---@field max_users? integer # with a rate: its users at the same time at most (default: 1000)
---@field arrivals? "even"|"poisson" # with a rate: at equal distances or at random (default: "even")
---@field stages? string[] # its own "5m:100" each, or "5m:200/s" for a rate
---@field hatch_rate? number|string # its own users started per second (default: 1)
---@field startup_time? lgoose.Duration # start all its users within this time instead of by hatch_rate
---@field start? lgoose.Duration # when its load begins, after the run has (default: with the run)
---@field run_time? lgoose.Duration # how long its load takes, counted as that of the run from its start (default: the run's)
---@field iterations? integer # of each of its users (default: the run's)
---@field shared_iterations? integer # of all its users together (default: no limit)
---@field throttle_requests? number|string # at most so many requests per second of all its users together
---@field headers? table<string, string> # sent with its requests, beside those of the run
---@field wait? lgoose.Wait # after each task that has none of its own (default: none)
---@field host? string # base URL of its users (default: the plan's)
---@field order? "shuffled"|"round-robin"|"serial"|"random" # of the tasks in an iteration (default: "shuffled")

---Declares a kind of user.
---@param spec lgoose.Scenario
---@return lgoose.Scenario
function scenario(spec) end

---Something a user does: a name, which may be left out, and the function last.
---@class lgoose.Task
---@field [1] string|lgoose.TaskFunction
---@field [2]? lgoose.TaskFunction
---@field weight? integer # how often it runs in one iteration (default: 1)
---@field tags? string|string[] # what '--tags' may choose it by (default: none)
---@field sequence? integer # tasks with one run before those without, in ascending order; equal ones form a group
---@field on_start? boolean # once per user at its beginning, not in the iteration (default: false)
---@field on_stop? boolean # once per user at its end, not in the iteration (default: false)
---@field wait? lgoose.Wait # after this task (default: the scenario's)

---Declares a task. One that no scenario takes belongs to the scenario "default".
---@param spec lgoose.Task
---@return lgoose.Task
function task(spec) end

---Runs once per test: "test_start" before the first user starts, "test_stop" after the last has stopped, with
---a user of its own. What the function of "test_start" returns is `shared` for every user.
---@param event "test_start"|"test_stop"
---@param handler fun(user: lgoose.User): any
function on(event, handler) end

---What the function of `on("test_start", …)` returned; it cannot be set. Tables in it are a copy for each user.
---@type any
shared = nil
