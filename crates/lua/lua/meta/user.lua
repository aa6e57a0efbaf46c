---@meta
-- The user of a task: the first argument of its function.

---A simulated user with its own cookies, connections and random numbers. A failed request is counted; it never
---raises an error.
---@class lgoose.User
---@field id integer # its number, starting at 1
---@field scenario string # the name of its scenario
---@field task string # the name of the running task
---@field iteration integer # the number of iterations it has started
---@field host string # the base URL that paths are joined to
---@field data table # its own data, kept between tasks
---@field cookies lgoose.Cookies
---@field tags table<string, string|number|boolean|nil> # tags of its requests from now on, in addition to those of the plan, scenario and task
local User = {}

---Requests a page and waits for its whole body.
---@param path string # joined to the host; a URL with its scheme is used as it is
---@param options? lgoose.Options
---@overload fun(self: lgoose.User, path: string, options: { stream: true, [string]: any }): lgoose.Stream
---@return lgoose.Response
function User:get(path, options) end

---@param path string
---@param options? lgoose.Options
---@return lgoose.Response
function User:head(path, options) end

---@param path string
---@param options? lgoose.Options
---@overload fun(self: lgoose.User, path: string, options: { stream: true, [string]: any }): lgoose.Stream
---@return lgoose.Response
function User:delete(path, options) end

---@param path string
---@param options? lgoose.Options
---@overload fun(self: lgoose.User, path: string, options: { stream: true, [string]: any }): lgoose.Stream
---@return lgoose.Response
function User:options(path, options) end

---@param path string
---@param body? string|lgoose.File # nil if the options have form, json or multipart
---@param options? lgoose.Options
---@overload fun(self: lgoose.User, path: string, body: string|lgoose.File|nil, options: { stream: true, [string]: any }): lgoose.Stream
---@return lgoose.Response
function User:post(path, body, options) end

---@param path string
---@param body? string|lgoose.File # nil if the options have form, json or multipart
---@param options? lgoose.Options
---@overload fun(self: lgoose.User, path: string, body: string|lgoose.File|nil, options: { stream: true, [string]: any }): lgoose.Stream
---@return lgoose.Response
function User:put(path, body, options) end

---@param path string
---@param body? string|lgoose.File # nil if the options have form, json or multipart
---@param options? lgoose.Options
---@overload fun(self: lgoose.User, path: string, body: string|lgoose.File|nil, options: { stream: true, [string]: any }): lgoose.Stream
---@return lgoose.Response
function User:patch(path, body, options) end

---Sends a request with any method and all options.
---@param request lgoose.Request
---@return lgoose.Response
function User:request(request) end

---Requests a list of URLs as a browser does: at most 6 at a time per host, each URL once.
---@param urls string[]
---@param options? lgoose.Options
---@return lgoose.Response[] # in the order of the list
function User:fetch(urls, options) end

---Sends different requests in parallel, within the same limits.
---@param requests lgoose.Request[]
---@return lgoose.Response[] # in the order of the list
function User:batch(requests) end

---Submits a form of a page as a browser does, with its method and enctype. It sends the hidden and default fields in page order;
---your fields override them. A field name that the form does not have is still sent, with a warning.
---@param form lgoose.Form? # raises an error if it is nil
---@param fields? table<string, any> # a list sends a field several times, {} leaves it out; a file is { filename =, data = }
---@param options? lgoose.SubmitOptions
---@return lgoose.Response
function User:submit(form, fields, options) end

---Calls a function until it returns a successful response, and returns the last response. Attempts that are repeated do not count
---as failures, whatever they expect. The last one counts as usual.
---@param how lgoose.Retry
---@return lgoose.Response
function User:retry(how) end

---Iterates over the server-sent events of a path: `for event in user:events(path) do … end`. With `reconnect`, the loop continues when a
---connection ends, like the `EventSource` of browsers: after its end or a network error, it waits for the time that the server has set
---(`retry`; else 3 seconds) and sends the latest `event.id` as `Last-Event-ID`. Each connection is a request. A status other than 200 or
---another content type ends the loop. So does `break`, which closes the connection.
---@param path string
---@param options? lgoose.EventOptions
---@return fun(): lgoose.Event?
function User:events(path, options) end

---Opens a WebSocket, and returns it once the server has accepted or refused it. Its request is the row `WS name`, with the latency of the
---handshake.
---@param path string # as for a request; `ws://` and `wss://` name other hosts
---@param options? lgoose.WebSocketOptions
---@return lgoose.Socket
function User:websocket(path, options) end

---Runs a function concurrently with the task, whenever the task waits for a response, a message or a pause. It starts when the task next
---waits. The task waits for its end. An error in it fails the task, unless `job:join` has raised it. `user:stop` and
---`user:exit_iteration` end the task and all its jobs. A user may have 100 jobs at a time. With `{ life = "user" }` as the only argument, the
---function goes on beside all further tasks, until the `on_stop` tasks of its user begin; a request under way is aborted then, and not counted. An error in it
---fails the task that is running.
---@param fn fun(...: any): ...
---@param ... any # its arguments, or `{ life = "user" }`
---@return lgoose.Job
function User:spawn(fn, ...) end

---Opens a TCP connection, which is the row `TCP name`. Without an address, connects to the host and port of the user.
---@param address? string # "127.0.0.1:6379", "unix:/run/app.sock", or a URL, of which only host and port count
---@param options? lgoose.NetOptions
---@return lgoose.NetSocket
function User:tcp(address, options) end

---Opens a TCP connection with TLS, which is the row `TLS name`: its certificate is verified like that of an https site.
---@param address? string
---@param options? lgoose.NetOptions
---@return lgoose.NetSocket
function User:tls(address, options) end

---Opens a socket that sends datagrams to an address and receives datagrams from it, which is the row `UDP name`.
---@param address? string
---@param options? lgoose.UdpOptions
---@return lgoose.NetSocket
function User:udp(address, options) end

---Runs a function and counts it as a request, in the row `TIMED name`, with the time until the function returns as its latency. It fails
---if the function raises an error, or returns nil (or false) and a reason, or returns nothing although a socket has failed meanwhile.
---Returns the return values of the function. A function that does not finish, as when the run is aborted, counts as aborted.
---@generic T
---@param name string
---@param fn fun(user: lgoose.User): T
---@param options? lgoose.TimedOptions
---@return T
function User:timed(name, fn, options) end

---Counts an exchange that the plan has measured itself as a request, in the row `RECORD name`: something that was sent in one place and
---answered in another, such as a push notification. It has ended now, and was under way for as long as its time says.
---@param exchange lgoose.MeasuredExchange
function User:record(exchange) end

---Calls a method with one request and one response, and waits for the response: the row `GRPC package.Service/Method`. A status other than
---OK, an exceeded deadline and a lost connection are failures, which the returned call shows.
---@param method string # "package.Service/Method"
---@param message? table|string # the fields of the request, or its text in JSON, in which bytes are base64
---@param options? lgoose.GrpcOptions
---@return lgoose.Call
function User:grpc(method, message, options) end

---Starts a call of a method with streams of messages, and returns once the request has been sent.
---@param method string
---@param options? lgoose.GrpcOptions
---@return lgoose.Call
function User:grpc_stream(method, options) end

---Runs a function with several requests, and times it as one row in the table of tasks.
---@generic T
---@param name string
---@param fn fun(): T
---@return T
---@overload fun(self, name: string, options: lgoose.TransactionOptions, fn: fun(): T): T
function User:transaction(name, fn) end

---Changes the base URL from now on.
---@param url string
function User:set_host(url) end

---Sets a header for every request from now on.
---@param name string
---@param value? string|number|boolean # nil removes it
function User:set_header(name, value) end

---Uses basic authentication for every request from now on.
---@param user string
---@param password string
function User:basic_auth(user, password) end

---Uses digest authentication from now on, for sites that require it. The first request to each site is sent twice.
---@param user string
---@param password string
function User:digest_auth(user, password) end

---Sends `Authorization: Bearer …` with every request from now on.
---@param token string
function User:bearer(token) end

---Waits. The wait continues even if the user has to stop, so a loop does not speed up. If it would end after nine tenths of
---`--stop-timeout` (the rest is for `on_stop` tasks), it ends the task at once, even inside a `pcall`.
---@param from lgoose.Duration|lgoose.Duration[]|lgoose.WaitRule # seconds, or a rule such as wait.normal(5, 2)
---@param to? lgoose.Duration # seconds; waits a random time between the two
function User:wait(from, to) end

---Ends this iteration. Its remaining tasks do not run, and the next iteration begins after the task's wait. In an on_start or
---on_stop task, it ends that task.
function User:exit_iteration() end

---Runs the on_stop tasks of this user, then ends it.
function User:stop() end

---Writes a line to the log, with user, scenario and task. It shows the fields of a table, the status and the URL of a response,
---and the HTML of an element.
---@param text any
function User:log(text) end

---The function that `user:retry` calls, and the number of attempts.
---@class lgoose.Retry
---@field [1] fun(user: lgoose.User, attempt: integer): lgoose.Response
---@field times? integer # the maximum number of attempts (default: 3)
---@field wait? lgoose.Duration|lgoose.Duration[] # the wait between two attempts: seconds, or { from, to } (default: none)

---The cookies of a user.
---@class lgoose.Cookies
local Cookies = {}

---Returns the value that requests to the user's host send.
---@param name string
---@return string? value
function Cookies:get(name) end

---Sets a cookie. By default, it is for the user's host and all its paths.
---@param name string
---@param value string
---@param scope? lgoose.CookieScope
function Cookies:set(name, value, scope) end

---Returns all valid cookies, sorted by domain, path and name.
---@return lgoose.Cookie[]
function Cookies:list() end

---Deletes the cookies with this name.
---@param name string
---@param scope? lgoose.CookieScope # only those of this domain and path
---@return integer count # the number of deleted cookies
function Cookies:delete(name, scope) end

---Deletes all cookies.
function Cookies:clear() end

---The scope of a cookie.
---@class lgoose.CookieScope
---@field domain? string # this domain and its subdomains (default: the user's host alone)
---@field path? string # this path and everything below it (default: "/")
---@field secure? boolean # sent over https only (default: false)

---A cookie of a user.
---@class lgoose.Cookie
---@field name string
---@field value string
---@field domain string
---@field path string
---@field host_only boolean # not sent to subdomains
---@field secure boolean # sent over https only
---@field http_only boolean # not visible to scripts of the page
---@field expires integer? # in seconds since 1970; nil: when the user ends

---A function that runs concurrently with the task that has spawned it.
---@class lgoose.Job
local Job = {}

---Waits until the function has ended, and returns its return values; nothing if it was cancelled. Raises the error of the function, if it
---raised one. Raises an error if the function waits for the caller: jobs cannot wait for each other.
---@return ...
function Job:join() end

---Ends the function where it waits, or at its next operation. A request under way is finished first.
function Job:cancel() end
