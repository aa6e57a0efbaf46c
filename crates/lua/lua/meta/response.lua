---@meta
-- The response to a request.

---@class lgoose.Response
---@field status integer # 0 without a response
---@field ok boolean # whether the request counts as a success
---@field error string? # why the request counts as failed
---@field url string? # the final URL, after redirects
---@field headers table<string, string> # names are case-insensitive; repeated headers are joined with ", "
---@field cookies table<string, string> # the cookies set by this response or by a redirect on the way
---@field body string # created when first read
---@field time number # seconds from the call to the last byte, including connecting and redirects
---@field timings lgoose.Timings
---@field size integer # bytes on the wire
---@field redirects integer # the number of redirects followed
---@field cached boolean # whether it came from the user's cache, revalidated or not
local Response = {}

---The time of each phase in seconds; 0 for a phase that did not take place.
---@class lgoose.Timings
---@field dns number
---@field connect number
---@field tls number
---@field send number
---@field first_byte number
---@field receive number
---@field total number

---Decodes the body as JSON; null becomes `json.null`. Raises an error if the body is not JSON. With a path, such as
---`"data.items[0].id"`, returns only the value there, or nil; with `[*]` in it, a list. `json.get` describes paths.
---@param path? string
---@return any
function Response:json(path) end

---Returns the page title.
---@return string?
function Response:title() end

---Returns the text of the first element that matches the selector.
---@param css string
---@return string?
function Response:text(css) end

---Returns an attribute of the first element that matches the selector.
---@param css string
---@param name string
---@return string?
function Response:attr(css, name) end

---Returns all elements that match the selector.
---@param selector string
---@return lgoose.Element[]
function Response:css(selector) end

---Returns a form. The selector matches the form, or an element in it.
---@param css? string # (default: the page's first form)
---@return lgoose.Form? # nil if there is no such form
function Response:form(css) end

---Returns the links of the page as absolute URLs, each once.
---@param filter? string|string[]|fun(url: string): boolean # a text that the URL contains, or a function that returns true for it
---@return string[]
function Response:links(filter) end

---Returns the scripts, images, stylesheets and icons of the page that are on its own site, as absolute URLs, each once. If the page
---declares another name for itself (`<link rel="canonical">`, `<base href>`), assets under that name belong to its site, and are
---listed with the host of the page. The report mentions other hosts once.
---@param filter? string|string[]|fun(url: string): boolean # a text that the URL contains, or a function that returns true for it
---@return string[]
function Response:assets(filter) end

---Returns the captures of the first match, or the whole match if the pattern has no captures.
---@param pattern string|lgoose.Regex
---@return string? ...
function Response:match(pattern) end

---Returns all matches.
---@param pattern string|lgoose.Regex
---@return any[]
function Response:matches(pattern) end

---Returns whether the body contains this text.
---@param text string
---@return boolean
function Response:contains(text) end

---Returns the value of a header. The name is case-insensitive.
---@param name string
---@return string?
function Response:header(name) end

---Counts this request as failed. You can call it until the end of the task, even after later requests.
---@param reason string
function Response:fail(reason) end

---Counts this request as a success. You can call it until the end of the task, even after later requests.
function Response:pass() end

---Raises an error if the request failed, which ends the task.
---@return lgoose.Response
function Response:ensure() end

---A form, with the fields that a browser would submit without any input.
---@class lgoose.Form
---@field action string? # an absolute URL, or a path if the page has no URL; nil if the page has no valid one
---@field method "GET"|"POST"|"DIALOG" # a form that closes its dialog is not sent
---@field enctype string # how the body is encoded: "application/x-www-form-urlencoded", "multipart/form-data" or "text/plain"
---@field page string? # the URL of the page with the form, sent as `Referer`
---@field referrerpolicy string? # how much of the page's URL is sent, if the page sets it: "no-referrer", "origin" …
---@field fields table<string, any> # a list if a name has several values
---@field buttons lgoose.Button[] # its submit buttons; Enter presses the first
---@field files string[] # the names of its file inputs
---@field required? string[] # the names of the fields that must not be empty
---@field order (string|integer)[] # the names of its fields in page order; a number stands for one of its buttons
---@field types? table<integer, string> # the types of inputs by their place in `order`, such as "email" or "range 0 100 1 0" (least, most, step, from): values are adjusted as by such an input
---@field charset? string # the character set of names and values (default: "UTF-8")

---A submit button of a form. Its action, method and enctype apply if it is pressed.
---@class lgoose.Button
---@field name string # "" if it has none
---@field value string
---@field caption string # its label
---@field default? true # Enter presses this button; its value is among the fields of the form
---@field image? true # an image button, which sends `name.x` and `name.y`
---@field action? string
---@field method? "GET"|"POST"|"DIALOG"
---@field enctype? string
---@field novalidate? true # required fields may be empty

---An element of a page.
---@class lgoose.Element
---@field attrs table<string, string>
local Element = {}

---@return string
function Element:text() end

---@param name string
---@return string?
function Element:attr(name) end

---Returns the elements within this one that match the selector.
---@param selector string
---@return lgoose.Element[]
function Element:css(selector) end

---@return string
function Element:html() end
