---@meta
-- The globals of a plan, in addition to standard Lua. All are read-only.

---Loads a module next to the plan ("lib.forms" is lib/forms.lua) or one of lgoose's own ("lgoose.drupal"). The file runs
---once per user, and its return value is returned.
---@param name string
---@return any
function require(name) end

---Variables from `-e NAME=value` or `--env-file`, else from the environment, which `--env-allow` can limit to some names.
---Variables of lgoose itself (`LGOOSE_…`, `OTEL_…`), which may hold secrets, are read from the environment only if it names them.
---`env("NAME", "default")` returns a variable as a text, and nil if it is set nowhere and there is no default.
---@class lgoose.env
---@overload fun(name: string, default?: string): string?
env = {}

---Returns a variable as a number. One that is set and is no number is an error.
---@param name string
---@param default? number
---@return number?
function env.number(name, default) end

---Returns true for a variable that says true, yes, on or 1, and false for false, no, off, 0 or nothing. Anything else is an error.
---@param name string
---@param default? boolean
---@return boolean?
function env.bool(name, default) end

---Returns the parts of a variable between its commas, without the spaces around them: `-e HOSTS=a,b`.
---@param name string
---@param default? string[]
---@return string[]?
function env.list(name, default) end

---Counts a pass or a failure under this name. Never raises an error.
---@generic T
---@param value T # nil and false count as failed
---@param name string
---@return T value
function check(value, name) end

---A pattern in the syntax of Rust's `regex`, compiled once per process.
---@class lgoose.Regex
local Regex = {}

---Returns the captures of the first match as values, or as a table if the groups have names; nil without a match.
---@param text string|lgoose.Response
---@return any ...
function Regex:match(text) end

---Returns all matches.
---@param text string|lgoose.Response
---@return any[]
function Regex:matches(text) end

---@param text string|lgoose.Response
---@return boolean
function Regex:test(text) end

---@param text string|lgoose.Response
---@param with string # $1 and ${name} insert captures
---@return string
function Regex:replace(text, with) end

---@param pattern string
---@return lgoose.Regex
function regex(pattern) end

---@class lgoose.json
---@field null any # the value for null; compare with ==
json = {}

---A table must be a list (1, 2, 3 … without holes) or have strings as keys; a table with both or with other keys is refused.
---@param value any
---@return string
function json.encode(value) end

---Marks a list as an array, so that it is an array in JSON even if it is empty: `json.array {}`. A decoded array stays an
---array by itself.
---@generic T
---@param list? T[]
---@return T[]
function json.array(list) end

---Returns a copy of a value, which the plan can change; also of `shared` and of values from `data.json`.
---@generic T
---@param value T
---@return T
function json.copy(value) end

---Returns the value at a path such as `"data.items[0].id"`; nil if nothing is there. `[0]` is the first element of a
---list and `[-1]` the last; `.1` is the first, too, as Lua counts. With `[*]`, the result is a list: `"data.items[*].id"`. A name with a
---dot is quoted: `"['a.b']"`. `response:json(path)` does the same with a response, and decodes nothing else of it.
---@param value any
---@param path string
---@return any
function json.get(value, path) end

---Integers beyond 64 bits, which Lua does not have, become strings of their digits.
---@param text string
---@return any
function json.decode(text) end

---@class lgoose.html
html = {}

---A page that is not a response, but can be read like one.
---@class lgoose.Page
local Page = {}

---@return string?
function Page:title() end

---Returns the text of the first matching element.
---@param selector string
---@return string?
function Page:text(selector) end

---Returns an attribute of the first matching element.
---@param selector string
---@param name string
---@return string?
function Page:attr(selector, name) end

---@param selector string
---@return lgoose.Element[]
function Page:css(selector) end

---Returns the form that matches the selector, or the first form without a selector. Use it with `user:submit`.
---@param selector? string
---@return lgoose.Form?
function Page:form(selector) end

---@param text string
---@param url? string # the URL of the page; without it, the actions of its forms begin with '/'
---@return lgoose.Page
function html.parse(text, url) end

---@class lgoose.xml
xml = {}

---An XML document. Selectors name elements in their case and without their prefix: `Body` finds `<soap:Body>`.
---@class lgoose.XmlDocument
local XmlDocument = {}

---Returns the elements that a CSS selector finds.
---@param selector string
---@return lgoose.Element[]
function XmlDocument:css(selector) end

---Returns the text of the first element that a CSS selector finds, nil if there is none.
---@param selector string
---@return string?
function XmlDocument:text(selector) end

---Returns an attribute of the first element that a CSS selector finds, with its prefix if it has one.
---@param selector string
---@param name string
---@return string?
function XmlDocument:attr(selector, name) end

---Parses an XML document, such as the body of a response. A document type is skipped: the entities that it declares are unknown.
---@param text string
---@return lgoose.XmlDocument
function xml.parse(text) end

---@class lgoose.url
url = {}

---Encodes a text as a part of a URL, or a table as a query.
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

---Returns the parts of an absolute URL. The port is that of the scheme if the URL names none. The fields of its query are decoded; one
---that occurs several times is a list. Parts that the URL does not have are nil.
---@param text string
---@return { scheme: string, host?: string, port?: integer, path: string, query: table<string, string|string[]>, fragment?: string, user?: string, password?: string }
function url.parse(text) end

---Returns the fields of a query or of a form that was sent, decoded; one that occurs several times is a list.
---@param query string # with or without '?'
---@return table<string, string|string[]>
function url.query(query) end

---@class lgoose.base64
base64 = {}

---Encodes as standard base64 with padding. "url" selects the URL-safe alphabet without padding (RFC 4648, section 5), as in a JWT.
---@param bytes string
---@param alphabet? "url"
---@return string
function base64.encode(bytes, alphabet) end

---@param text string
---@return string
function base64.decode(text) end

---Base32 as in RFC 4648, section 6, the encoding of secrets of one-time passwords.
---@class lgoose.base32
base32 = {}

---@param bytes string
---@return string
function base32.encode(bytes) end

---Reads either case, with padding or without.
---@param text string
---@return string
function base32.decode(text) end

---@class lgoose.hex
hex = {}

---@param bytes string
---@return string
function hex.encode(bytes) end

---@param text string
---@return string
function hex.decode(text) end

---Digests in hexadecimal digits or, with "raw", as bytes.
---@class lgoose.hash
hash = {}

---@param bytes string
---@param form? "raw"
---@return string
function hash.sha256(bytes, form) end

---@param key string
---@param bytes string
---@param form? "raw"
---@return string
function hash.hmac_sha256(key, bytes, form) end

---Derives a key from a password with PBKDF2 (RFC 8018), as SCRAM does. It is as long as the digest.
---@param password string
---@param salt string
---@param iterations integer # up to 2,000,000
---@param form? "raw"
---@param algorithm? "sha1"|"sha256"|"sha384"|"sha512" # (default: "sha256")
---@return string
function hash.pbkdf2(password, salt, iterations, form, algorithm) end

---@param bytes string
---@param form? "raw"
---@return string
function hash.md5(bytes, form) end

---@param bytes string
---@param form? "raw"
---@return string
function hash.sha1(bytes, form) end

---@param bytes string
---@param form? "raw"
---@return string
function hash.sha384(bytes, form) end

---@param bytes string
---@param form? "raw"
---@return string
function hash.sha512(bytes, form) end

---@param key string
---@param bytes string
---@param form? "raw"
---@return string
function hash.hmac_sha1(key, bytes, form) end

---@param key string
---@param bytes string
---@param form? "raw"
---@return string
function hash.hmac_sha384(key, bytes, form) end

---@param key string
---@param bytes string
---@param form? "raw"
---@return string
function hash.hmac_sha512(key, bytes, form) end

---Returns the bytes of a signature, as a JSON Web Token has it (RFC 7518, RFC 8037).
---@param algorithm "RS256"|"RS384"|"RS512"|"PS256"|"PS384"|"PS512"|"ES256"|"ES384"|"EdDSA"
---@param key string # a private key in PEM: PKCS #8 or, for RSA, PKCS #1
---@param text string
---@return string
function hash.sign(algorithm, key, text) end

---Random values. Each user has its own stream, from `--seed` and the user's number, so a run can be repeated.
---@class lgoose.random
random = {}

---Returns a whole number from a to b, both included.
---@param a integer
---@param b integer
---@return integer
function random.int(a, b) end

---Returns a number from 0 up to, but not including, 1.
---@return number
function random.float() end

---@generic T
---@param list T[]
---@return T
function random.choice(list) end

---Returns n elements of the list in random order, each place at most once.
---@generic T
---@param list T[]
---@param n integer
---@return T[]
function random.sample(list, n) end

---Returns a list of the same elements in random order.
---@generic T
---@param list T[]
---@return T[]
function random.shuffle(list) end

---Returns n random bytes, at most 1 MiB. They come from the user's stream, so they repeat with `--seed`: use them for data and not for
---secrets.
---@param n integer
---@return string
function random.bytes(n) end

---Returns a key, chosen by its weight: `random.weighted { read = 9, write = 1 }`.
---@generic K
---@param weights table<K, number>
---@return K
function random.weighted(weights) end

---Returns a key of the table, each with the same chance.
---@generic K
---@param table table<K, any>
---@return K
function random.key(table) end

---Returns a number of the exponential distribution, as times between independent events have it.
---@param mean number
---@return number
function random.exponential(mean) end

---Returns a number of the normal distribution.
---@param mean number
---@param deviation number # the standard deviation
---@return number
function random.normal(mean, deviation) end

---Returns letters and digits.
---@param n integer # how many
---@return string
function random.string(n) end

---@param n integer # how many
---@return string
function random.words(n) end

---Returns a UUID of version 4. With the same `--seed`, it returns the same ones again in each run.
---@return string
function random.uuid() end

---Returns a first and a last name.
---@return string
function random.name() end

---Returns an e-mail address below example.com, where no mail arrives.
---@return string
function random.email() end

---Returns a telephone number that belongs to nobody.
---@return string
function random.phone() end

---Data files, read once per process and shared by all users. Paths are relative to the plan.
---@class lgoose.data
data = {}

---@class lgoose.DataOptions
---@field order? "circular"|"random"|"unique"|"sequential" # (default: "circular")

---@class lgoose.LinesOptions: lgoose.DataOptions
---@field stream? boolean # leave rows in the file, which may be larger than the memory, and read each when it is taken (default: false)

---@class lgoose.CsvOptions: lgoose.LinesOptions
---@field separator? string # the separator between two cells, one byte, such as ";" or "\t" (default: ",")
---@field columns? string[] # the names of the columns, for a file whose first line is a row

---Reads a CSV file, which may be compressed with gzip. Without `columns`, the first line has the names of the columns.
---@param file string
---@param options? lgoose.CsvOptions
---@return lgoose.Rows
function data.csv(file, options) end

---Reads a JSON file, which may be compressed with gzip, and returns its value. All users of the process share one copy of it, so it cannot be
---changed; `json.copy` makes a copy that can. With an order, `data.json` returns the rows of a list.
---@param file string
---@param options? lgoose.DataOptions
---@return any
function data.json(file, options) end

---Reads a JSON5 file, like `data.json`.
---@param file string
---@param options? lgoose.DataOptions
---@return any
function data.json5(file, options) end

---Reads a YAML file of one document, like `data.json`.
---@param file string
---@param options? lgoose.DataOptions
---@return any
function data.yaml(file, options) end

---Reads a file with one JSON value per line (`.jsonl`), like a list in `data.json`.
---@param file string
---@param options? lgoose.DataOptions
---@return any
function data.jsonl(file, options) end

---Reads the non-empty lines of a file, which may be compressed with gzip.
---@param file string
---@param options? lgoose.LinesOptions
---@return lgoose.Rows
function data.lines(file, options) end

---The rows of a file. `#rows` is their number.
---@class lgoose.Rows
---@field [integer] any # the row with this number
---@operator len: integer
local Rows = {}

---Returns the next row: a table by column, or the line. With "unique", a user stops if there is no row left.
---@return any
function Rows:next() end

---Returns the row with this number, starting at 1, even if another user has taken it; nil after the last row.
---@param number integer
---@return any
function Rows:get(number) end

---Custom metrics of the plan, shown in every report. Thresholds can use them.
---@class lgoose.metric
metric = {}

---@class lgoose.Metric
local Metric = {}

---Adds a value. Values with tags count in the metric and in a row of their own, such as `size{kind=image}`; thresholds can
---choose them by their tags: `["kind=image, metric size"] = "p95 < 1000"`.
---@param value? number|boolean # a counter adds 1 without it
---@param tags? table<string, string|number|boolean> # such as { kind = "image" }
function Metric:add(value, tags) end

---Creates a metric that shows the sum.
---@param name string
---@return lgoose.Metric
function metric.counter(name) end

---Creates a metric that shows the latest value.
---@param name string
---@return lgoose.Metric
function metric.gauge(name) end

---Creates a metric that shows the share of values that are true or not 0.
---@param name string
---@return lgoose.Metric
function metric.rate(name) end

---Creates a metric that shows average, minimum, maximum and percentiles.
---@param name string
---@return lgoose.Metric
function metric.trend(name) end

---The current run. Use it in tasks and events, not at the top level of the file.
---@class lgoose.run
run = {}

---Ends the run like a stop: running tasks finish, then `on_stop` and `test_stop` run. The verdict says why. In test_start, it
---prevents users from starting. In a run on workers, it ends the whole run.
---@param why string
function run.stop(why) end

---Makes the run fail: the verdict says why, and the exit code is 1. The run continues; `run.stop` ends it. Each reason counts
---once, however many users report it.
---@param why string
function run.fail(why) end

---Returns the seconds since the first user started, without pauses; 0 in test_start and test_stop.
---@return number
function run.elapsed() end

---Returns the number of active users in this process. In a run on workers, these are the users of one worker.
---@return integer
function run.users() end

---Waits until all users of the run have started, on all workers. Returns at once if they have, or if the run is at a rate. A stop
---ends the waiting task.
function run.ready() end

---Writes lines to the log, with user and scenario.
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

---Rules for the field `wait` of scenarios and tasks.
---@class lgoose.wait
wait = {}

---@class lgoose.WaitRule
---@field kind string

---A random time between the two values, uniformly distributed.
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

---Starts an iteration every `time` seconds, however long it takes. If one takes longer, the schedule moves; lgoose does not catch up.
---@param time lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.pacing(time) end

---Starts a task every `time` seconds, however long it takes, like Locust's `constant_pacing`. The schedule works as in `wait.pacing`.
---@param time lgoose.Duration # seconds
---@return lgoose.WaitRule
function wait.tick(time) end

---Starts tasks at this rate per second and user. The schedule works as in `wait.pacing`.
---@param rate number
---@return lgoose.WaitRule
function wait.throughput(rate) end

---The wall clock, and dates as sites write them. Times are seconds since 1970, with fractions; all texts are in UTC.
---@class lgoose.time
time = {}

---@return number seconds
function time.now() end

---Returns the milliseconds since 1970.
---@return integer
function time.ms() end

---Returns a time as `2026-11-28T04:25:07.123Z` (ISO 8601), with milliseconds if it has a fraction.
---@param seconds? number # (default: now)
---@return string
function time.iso(seconds) end

---Returns a time in the form of HTTP headers: `Sat, 28 Nov 2026 04:25:07 GMT`.
---@param seconds? number # (default: now)
---@return string
function time.http(seconds) end

---Formats a time as strftime does: `time.format "%Y%m%d"`.
---@param format string
---@param seconds? number # (default: now)
---@return string
function time.format(format, seconds) end

---Reads a time as `time.iso` and `time.http` write it, also with another offset than UTC or as a date alone.
---@param text string
---@return number seconds
function time.parse(text) end

---The part of Lua's `os` library that plans have.
---@class lgoose.os
os = {}

---Returns the seconds since 1970, now or at the given date.
---@param date? table
---@return integer
function os.time(date) end

---Returns the seconds of a monotonic clock, to measure differences.
---@return number
function os.clock() end

---@param format? string
---@param time? integer
---@return string|osdate
function os.date(format, time) end

---A file next to the plan, read once per process. Use it as a body, as a file field of a form, or as `data` of a part. If you call
---it at the top level of the plan, the file is sent to workers with the plan.
---@class lgoose.File
---@field name string # the file name without folders
---@field size integer # bytes

---@param name string # relative to the plan
---@return lgoose.File
function file(name) end

---Returns the text of a file next to the plan, which must be UTF-8.
---@param file string|lgoose.File
---@return string
function data.text(file) end

---Returns the bytes of a file next to the plan.
---@param file string|lgoose.File
---@return string
function data.bytes(file) end
