---@meta
-- The user of a task: the first argument of its function.

---A simulated user with cookies, connections and random numbers of its own. A failed request is counted,
---never raised.
---@class lgoose.User
---@field id integer # its number, from 1
---@field scenario string # the name of its scenario
---@field task string # the name of the running task
---@field iteration integer # iterations begun
---@field host string # the base URL that paths are joined to
---@field data table # its own: what it must remember between tasks
---@field cookies lgoose.Cookies
---@field tags table<string, string|number|boolean|nil> # of its requests from now on, beside those that are declared
local User = {}

---Gets a page and waits for its whole body.
---@param path string # joined to the host; an absolute URL wins
---@param options? lgoose.Options
---@return lgoose.Response
function User:get(path, options) end

---@param path string
---@param options? lgoose.Options
---@return lgoose.Response
function User:head(path, options) end

---@param path string
---@param options? lgoose.Options
---@return lgoose.Response
function User:delete(path, options) end

---@param path string
---@param options? lgoose.Options
---@return lgoose.Response
function User:options(path, options) end

---@param path string
---@param body? string|lgoose.File # or nil with form, json or multipart in the options
---@param options? lgoose.Options
---@return lgoose.Response
function User:post(path, body, options) end

---@param path string
---@param body? string|lgoose.File # or nil with form, json or multipart in the options
---@param options? lgoose.Options
---@return lgoose.Response
function User:put(path, body, options) end

---@param path string
---@param body? string|lgoose.File # or nil with form, json or multipart in the options
---@param options? lgoose.Options
---@return lgoose.Response
function User:patch(path, body, options) end

---A request with any method and all options.
---@param request lgoose.Request
---@return lgoose.Response
function User:request(request) end

---Gets a list as a browser does: at most 6 at a time per host, each URL once.
---@param urls string[]
---@param options? lgoose.Options
---@return lgoose.Response[] # in the order of the list
function User:fetch(urls, options) end

---Different requests side by side, within the same limits.
---@param requests lgoose.Request[]
---@return lgoose.Response[] # in the order of the list
function User:batch(requests) end

---Submits a form found on a page as a browser does: its hidden and default fields and yours over them, in the order of
---the page, by its method and enctype. A name that the form lacks is sent, too, with a warning.
---@param form lgoose.Form? # raises if it was not found
---@param fields? table<string, any> # a list gives a field several times, {} leaves it out; a file is { filename =, data = }
---@param options? lgoose.SubmitOptions
---@return lgoose.Response
function User:submit(form, fields, options) end

---Calls a function until the response that it returns is a success, and returns the last one. Attempts that are tried
---again are no failures, whatever they expected; the last one is judged as ever.
---@param how lgoose.Retry
---@return lgoose.Response
function User:retry(how) end

---Times a block of several requests as one row in the table of tasks.
---@generic T
---@param name string
---@param fn fun(): T
---@return T
---@overload fun(self, name: string, options: lgoose.TransactionOptions, fn: fun(): T): T
function User:transaction(name, fn) end

---Changes the base URL from now on.
---@param url string
function User:set_host(url) end

---Sends a header with every request from now on.
---@param name string
---@param value? string|number|boolean # nil: no longer
function User:set_header(name, value) end

---Sends basic authentication with every request from now on.
---@param user string
---@param password string
function User:basic_auth(user, password) end

---Answers what sites ask for by digest authentication from now on. The first request to each is sent twice.
---@param user string
---@param password string
function User:digest_auth(user, password) end

---Sends `Authorization: Bearer …` with every request from now on.
---@param token string
function User:bearer(token) end

---Waits. Also when the user is told to stop, so that a loop goes on no faster than before; a wait that would end too
---late for `--stop-timeout` and the `on_stop` tasks (after nine tenths of it) ends the task at once, whatever catches errors.
---@param from lgoose.Duration # seconds
---@param to? lgoose.Duration # seconds; a random time between the two
function User:wait(from, to) end

---Ends this iteration: the tasks that are left of it are not run, and the next one begins after the task's wait. In an
---on_start or on_stop task it ends that task.
function User:exit_iteration() end

---Ends this user after its on_stop tasks.
function User:stop() end

---A line in the log with user, scenario and task. Tables are shown by their fields.
---@param text any
function User:log(text) end

---What `user:retry` tries, and how often.
---@class lgoose.Retry
---@field [1] fun(user: lgoose.User, attempt: integer): lgoose.Response
---@field times? integer # attempts at most (default: 3)
---@field wait? lgoose.Duration|lgoose.Duration[] # between two of them: seconds, or { from, to } (default: none)

---The cookies of a user.
---@class lgoose.Cookies
local Cookies = {}

---The value that requests to the user's host send.
---@param name string
---@return string? value
function Cookies:get(name) end

---Sets a cookie, for the user's host and all its paths unless told otherwise.
---@param name string
---@param value string
---@param scope? lgoose.CookieScope
function Cookies:set(name, value, scope) end

---All cookies that are valid, by domain, path and name.
---@return lgoose.Cookie[]
function Cookies:list() end

---Forgets the cookies of one name.
---@param name string
---@param scope? lgoose.CookieScope # only those of this domain and path
---@return integer count # how many there were
function Cookies:delete(name, scope) end

---Forgets all of them.
function Cookies:clear() end

---Where a cookie belongs.
---@class lgoose.CookieScope
---@field domain? string # with its subdomains (default: the user's host alone)
---@field path? string # and what is below it (default: "/")
---@field secure? boolean # over https only (default: false)

---A cookie of a user.
---@class lgoose.Cookie
---@field name string
---@field value string
---@field domain string
---@field path string
---@field host_only boolean # not for subdomains
---@field secure boolean # over https only
---@field http_only boolean # not for scripts of the page
---@field expires integer? # in seconds since 1970; nil: with the user
