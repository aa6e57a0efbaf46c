---@meta
-- The globals of a plan besides standard Lua. All are read-only.

---A file beside the plan ("lib.forms" is lib/forms.lua below it) or one of lgoose's own ("lgoose.drupal"). Runs
---once per user and gives what the file returns.
---@param name string
---@return any
function require(name) end

---A variable: from `-e NAME=value`, then from the environment, as far as `--env-allow` lets it be read.
---@param name string
---@param default? string
---@return string?
function env(name, default) end

---Counts a pass or a failure under that name; never raises.
---@generic T
---@param value T # failed: nil and false
---@param name string
---@return T value
function check(value, name) end

---A pattern in the syntax of Rust's `regex`, compiled once per process.
---@class lgoose.Regex
local Regex = {}

---The captures of the first match as values, or a table where groups have names; nil without a match.
---@param text string|lgoose.Response
---@return any ...
function Regex:match(text) end

---All matches.
---@param text string|lgoose.Response
---@return any[]
function Regex:matches(text) end

---@param text string|lgoose.Response
---@return boolean
function Regex:test(text) end

---@param text string|lgoose.Response
---@param with string # $1 and ${name} stand for captures
---@return string
function Regex:replace(text, with) end

---@param pattern string
---@return lgoose.Regex
function regex(pattern) end

---@class lgoose.json
---@field null any # what null becomes; compare with ==
json = {}

---@param value any
---@return string
function json.encode(value) end

---Marks a list as an array, which it is in JSON also while it is empty: `json.array {}`. What was decoded as an array
---stays one by itself.
---@generic T
---@param list? T[]
---@return T[]
function json.array(list) end

---@param text string
---@return any
function json.decode(text) end

---@class lgoose.html
html = {}

---A page that did not come as a response, read like one.
---@class lgoose.Page
local Page = {}

---@return string?
function Page:title() end

---The text of the first element found.
---@param selector string
---@return string?
function Page:text(selector) end

---An attribute of the first element found.
---@param selector string
---@param name string
---@return string?
function Page:attr(selector, name) end

---@param selector string
---@return lgoose.Element[]
function Page:css(selector) end

---The form that the selector names, else the first one, for `user:submit`.
---@param selector? string
---@return lgoose.Form?
function Page:form(selector) end

---@param text string
---@param url? string # where the page is; without it the actions of its forms begin with '/'
---@return lgoose.Page
function html.parse(text, url) end

---@class lgoose.url
url = {}

---Text as a part of a URL; a table as a query.
---@param value string|table<string, any>
---@return string
function url.encode(value) end

---@param text string
---@return string
function url.decode(text) end

---@param base string
---@param path string
---@return string
function url.join(base, path) end

---@class lgoose.base64
base64 = {}

---Standard base64 with padding; "url" is the URL-safe alphabet without padding (RFC 4648, section 5), as in a JWT.
---@param bytes string
---@param alphabet? "url"
---@return string
function base64.encode(bytes, alphabet) end

---@param text string
---@return string
function base64.decode(text) end

---@class lgoose.hash
hash = {}

---@param bytes string
---@return string hex
function hash.sha256(bytes) end

---@param key string
---@param bytes string
---@return string hex
function hash.hmac_sha256(key, bytes) end

---@param bytes string
---@return string hex
function hash.md5(bytes) end

---@param bytes string
---@return string hex
function hash.sha1(bytes) end

---@param bytes string
---@return string hex
function hash.sha512(bytes) end

---@param key string
---@param bytes string
---@return string hex
function hash.hmac_sha1(key, bytes) end

---@param key string
---@param bytes string
---@return string hex
function hash.hmac_sha512(key, bytes) end

---One stream per user, from `--seed` and the user's number, so that a run can be repeated.
---@class lgoose.random
random = {}

---A whole number from a to b, both included.
---@param a integer
---@param b integer
---@return integer
function random.int(a, b) end

---From 0 up to, not including, 1.
---@return number
function random.float() end

---@generic T
---@param list T[]
---@return T
function random.choice(list) end

---A key, drawn by its weight: `random.weighted { read = 9, write = 1 }`.
---@generic K
---@param weights table<K, number>
---@return K
function random.weighted(weights) end

---Letters and digits.
---@param n integer # how many
---@return string
function random.string(n) end

---@param n integer # how many
---@return string
function random.words(n) end

---@return string
function random.uuid() end

---A first and a last name.
---@return string
function random.name() end

---An address below example.com, where no mail arrives.
---@return string
function random.email() end

---A telephone number that is nobody's.
---@return string
function random.phone() end

---Data read once per process and shared by all users; paths are relative to the plan.
---@class lgoose.data
data = {}

---@class lgoose.DataOptions
---@field order? "circular"|"random"|"unique"|"sequential" # (default: "circular")

---@class lgoose.CsvOptions: lgoose.DataOptions
---@field separator? string # between two cells, one byte, such as ";" or "\t" (default: ",")

---Rows by the names of the first line.
---@param file string
---@param options? lgoose.CsvOptions
---@return lgoose.Rows
function data.csv(file, options) end

---The decoded value; with an order the rows of a list, which then cost their memory once for all users.
---@param file string
---@param options? lgoose.DataOptions
---@return any
function data.json(file, options) end

---The values of a file with one in each line (`.jsonl`), as those of a list in `data.json`.
---@param file string
---@param options? lgoose.DataOptions
---@return any
function data.jsonl(file, options) end

---The lines that are not empty.
---@param file string
---@param options? lgoose.DataOptions
---@return lgoose.Rows
function data.lines(file, options) end

---`#rows` is how many there are.
---@class lgoose.Rows
---@field [integer] any # the row of that number
---@operator len: integer
local Rows = {}

---The next row: a table by column, or the line. With "unique", a user that finds none left stops.
---@return any
function Rows:next() end

---The row of that number from 1 on, whoever has taken it; nil beyond the last.
---@param number integer
---@return any
function Rows:get(number) end

---Figures of the plan's own, shown in every report and usable in thresholds.
---@class lgoose.metric
metric = {}

---@class lgoose.Metric
local Metric = {}

---@param value? number|boolean # what a counter is not given is 1
function Metric:add(value) end

---A sum.
---@param name string
---@return lgoose.Metric
function metric.counter(name) end

---The latest value.
---@param name string
---@return lgoose.Metric
function metric.gauge(name) end

---The share of those that are true or not 0.
---@param name string
---@return lgoose.Metric
function metric.rate(name) end

---Average, least, most and percentiles.
---@param name string
---@return lgoose.Metric
function metric.trend(name) end

---Lines in the log, with user and scenario.
---The run that is going on: for tasks and events, not for the top level of the file.
---@class lgoose.run
run = {}

---Ends the run as a stop does: tasks that are under way finish, `on_stop` and `test_stop` run. The verdict says why. In
---test_start it keeps users from starting. Of a run on workers, all of it ends.
---@param why string
function run.stop(why) end

---Lets the run fail: the verdict says why, and the exit code is 1. It goes on; `run.stop` ends it. Each reason counts
---once, however many users find it.
---@param why string
function run.fail(why) end

---Seconds since users began to start, without pauses; 0 in test_start and test_stop.
---@return number
function run.elapsed() end

---How many users are at work now: in this process, so in a run on workers those of one worker.
---@return integer
function run.users() end

---Waits until all users have been started that the run will have at a time, those of all workers too; returns at once
---when they have, and at a rate. A stop ends the task that waits.
function run.ready() end

---@class lgoose.log
log = {}

---@param ... any
function log.debug(...) end

---@param ... any
function log.info(...) end

---@param ... any
function log.warn(...) end

---@param ... any
function log.error(...) end

---Pauses for the field `wait` of scenarios and tasks.
---@class lgoose.wait
wait = {}

---@class lgoose.WaitRule
---@field kind string

---A random time between the two, uniform.
---@param from lgoose.Duration # seconds
---@param to lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.between(from, to) end

---@param time lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.constant(time) end

---@param mean lgoose.Duration # seconds
---@param deviation lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.normal(mean, deviation) end

---@param mean lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.exponential(mean) end

---An iteration every so many seconds, whatever it took. One that takes longer moves the schedule and is not made up for.
---@param time lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.pacing(time) end

---A task every so many seconds, whatever it took, as Locust's `constant_pacing`; on a schedule as that of `wait.pacing`.
---@param time lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.tick(time) end

---Tasks per second and user, on a schedule as that of `wait.pacing`.
---@param rate number
---@return lgoose.WaitRule
function wait.throughput(rate) end

---The part of Lua's `os` that plans have.
---@class lgoose.os
os = {}

---Seconds since 1970, now or at that date.
---@param date? table
---@return integer
function os.time(date) end

---Seconds of a clock that only goes forward, for differences.
---@return number
function os.clock() end

---@param format? string
---@param time? integer
---@return string|osdate
function os.date(format, time) end

---A file beside the plan, read once per process: a body, a field of a form with files, or `data` of a part. Called at
---the top level of the plan, it travels with the plan to workers.
---@class lgoose.File
---@field name string # without folders
---@field size integer # bytes

---@param name string # as seen from the plan
---@return lgoose.File
function file(name) end

---The text of a file beside the plan, which is UTF-8.
---@param file string|lgoose.File
---@return string
function data.text(file) end

---The bytes of a file beside the plan.
---@param file string|lgoose.File
---@return string
function data.bytes(file) end
