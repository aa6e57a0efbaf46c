---@meta
-- What a request gives back.

---@class lgoose.Response
---@field status integer # 0 if no answer came
---@field ok boolean # whether it counts as a success
---@field error string? # why it counts as failed
---@field url string? # the final URL, after redirects
---@field headers table<string, string> # names in any case; repeated ones joined with ", "
---@field cookies table<string, string> # those that came with it or with a redirect on the way
---@field body string # made when first read
---@field time number # seconds from the call to the last byte, connecting and redirects included
---@field timings lgoose.Timings
---@field size integer # bytes on the wire
---@field redirects integer # how many were followed
---@field cached boolean # whether it came from the user's cache, asked for or not
local Response = {}

---Seconds of each phase; 0 for one that did not take place.
---@class lgoose.Timings
---@field dns number
---@field connect number
---@field tls number
---@field send number
---@field first_byte number
---@field receive number
---@field total number

---The body as JSON; null is `json.null`. Raises if it is none.
---@return any
function Response:json() end

---The text of the page's title.
---@return string?
function Response:title() end

---The text of the first element that the selector finds.
---@param css string
---@return string?
function Response:text(css) end

---An attribute of the first element that the selector finds.
---@param css string
---@param name string
---@return string?
function Response:attr(css, name) end

---All elements that the selector finds.
---@param selector string
---@return lgoose.Element[]
function Response:css(selector) end

---A form, found by itself or by an element in it.
---@param css? string # (default: the page's first form)
---@return lgoose.Form? # nil if there is none
function Response:form(css) end

---The page's links, absolute, each once.
---@param filter? string|string[]|fun(url: string): boolean # contained in the URL, or true for it
---@return string[]
function Response:links(filter) end

---The page's scripts, images, stylesheets and icons of its own site, absolute, each once. What the page has under a name
---that it uses for itself (`<link rel="canonical">`, `<base href>`) is of its site, and is listed with the page's host; other
---hosts are told once in the report.
---@param filter? string|string[]|fun(url: string): boolean # contained in the URL, or true for it
---@return string[]
function Response:assets(filter) end

---The captures of the first match, or the whole match if the pattern captures nothing.
---@param pattern string|lgoose.Regex
---@return string? ...
function Response:match(pattern) end

---All matches.
---@param pattern string|lgoose.Regex
---@return any[]
function Response:matches(pattern) end

---Whether the body contains this text.
---@param text string
---@return boolean
function Response:contains(text) end

---A header's value, its name in any case.
---@param name string
---@return string?
function Response:header(name) end

---Counts this request as failed. Works until the task ends that made it, also after later requests.
---@param reason string
function Response:fail(reason) end

---Counts this request as a success. Works until the task ends that made it, also after later requests.
function Response:pass() end

---Raises if the request failed, and so ends the task.
---@return lgoose.Response
function Response:ensure() end

---A form as a browser would submit it untouched.
---@class lgoose.Form
---@field action string # absolute, or a path where the page has no URL
---@field method "GET"|"POST"
---@field enctype string # how the body is encoded: "application/x-www-form-urlencoded", "multipart/form-data" or "text/plain"
---@field page string? # the URL of the page that it was found on, which the request tells as its `Referer`
---@field fields table<string, any> # a list where a name has several values
---@field buttons lgoose.Button[] # its submit buttons that have a name
---@field files string[] # the names of its inputs for files
---@field order (string|integer)[] # the names of its fields as they follow one another; a number is one of its buttons

---A submit button of a form. Its own action, method and enctype hold where the option `button` names it.
---@class lgoose.Button
---@field name string
---@field value string
---@field default? true # Enter presses it: its value is among the form's fields
---@field image? true # an image, which sends `name.x` and `name.y`
---@field action? string
---@field method? "GET"|"POST"
---@field enctype? string

---An element of a page.
---@class lgoose.Element
---@field attrs table<string, string>
local Element = {}

---@return string
function Element:text() end

---@param name string
---@return string?
function Element:attr(name) end

---The elements within this one that the selector finds.
---@param selector string
---@return lgoose.Element[]
function Element:css(selector) end

---@return string
function Element:html() end
