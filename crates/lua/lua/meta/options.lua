---@meta
-- The options of a request: the last argument of user:get, user:post and so on.

---@class lgoose.Options
---@field name? string # the row of the report that counts the request (default: the task's name, else the path)
---@field headers? table<string, string|number|boolean>
---@field cookies? table<string, string|number|boolean> # sent with this request only; they override the user's cookies of the same name
---@field query? table<string, any>|lgoose.FieldPair[] # appended to the path, URL-encoded; lists and nested tables as in `form`
---@field form? table<string, any>|lgoose.FieldPair[] # the body, URL-encoded; a list sends a field several times, and { a = { b = 1 } } is `a[b]=1`; { { "b", 1 }, { "a", 2 } } keeps its order
---@field json? any # the body, as JSON
---@field multipart? table<string, any>|lgoose.Part[] # the body, as multipart/form-data: by name (a list sends a name several times), or a list of parts in order
---@field timeout? lgoose.Duration # seconds (default: the plan's, 60)
---@field redirects? integer # the maximum number of redirects to follow; one more is a failure; 0 = do not follow (default: 10)
---@field max_redirects? integer # follow this many redirects; the next one is the response, with its status (default: the plan's)
---@field expect? lgoose.Expect # conditions for success, in addition to a status below 400
---@field auth? string|lgoose.Credentials|lgoose.Bearer # "user:password" or { "user", "password" } for basic authentication
---@field compress? "gzip" # compress the body
---@field discard? boolean|"successful" # count the size of the body, but do not keep it; "successful": only where the status is below 400 (default: the plan's)
---@field count? boolean # false: leave this request out of all figures, thresholds and logs; its failure has no effect (default: true)
---@field stream? boolean # true: return once the headers have arrived, and read the body while it arrives (see `lgoose.Stream`; default: false)
---@field max_buffer? integer # the longest event or line of a stream in bytes (default: 1048576)
---@field allow_failure? boolean # a bad status does not count as a failure (default: false)
---@field tags? table<string, string|number|boolean> # tags for reports and thresholds: { region = "eu" }

---@class lgoose.TransactionOptions
---@field tags? table<string, string|number|boolean> # tags of the requests within it

---@class lgoose.EventOptions: lgoose.Options
---@field reconnect? boolean # reconnect when a connection ends, as browsers do (default: false)

---@class lgoose.WebSocketOptions: lgoose.Options
---@field subprotocols? string[] # the subprotocols to offer
---@field deflate? boolean # offer compression of messages (permessage-deflate; default: true)
---@field reconnect? boolean|{ wait?: lgoose.Duration } # open it again after a pause once it has ended, unless the plan has closed it; each opening is a request (default: false; the pause: 1)

---@class lgoose.SubmitOptions: lgoose.Options
---@field button? string|false # the name or the value of the button to press (default: the first; false: none)
---@field added? boolean|string[] # the fields that scripts of the page add to the form, for which there is no warning (default: false; true: any field)

---A field with its name, where the order counts.
---@class lgoose.FieldPair
---@field [1] string
---@field [2] string|number|boolean

---A user name and a password.
---@class lgoose.Credentials
---@field [1] string
---@field [2] string
---@field digest? boolean # digest instead of basic authentication, when the site requires it; the first request is sent twice

---A token for `Authorization: Bearer …`.
---@class lgoose.Bearer
---@field bearer string

---A file, or another part of a multipart body.
---@class lgoose.Part
---@field name? string # the name of the field, in a list of parts
---@field filename? string
---@field type? string # the media type, such as "image/png" (default: by the end of the file's name)
---@field data string|number|boolean|lgoose.File

---Expectations about the response. The first one that is not met marks the request as failed; the task continues. They are
---checked in this order: status, redirect, title, text, then the others. For a stream, `status` and `header` are checked, and its
---messages at its end.
---@class lgoose.Expect
---@field status? integer|integer[] # the status of the final response (default: any below 400)
---@field title? string|lgoose.Regex # how the page title must begin, or a pattern that it must match
---@field text? string|string[] # text that the body must contain
---@field no_text? string|string[] # text that the body must not contain
---@field header? table<string, string|true> # a header and its value, or true for any value
---@field redirect? boolean|string # whether the request must be redirected, or the redirect target: a path on the same host, or a URL
---@field under? lgoose.Duration # the maximum time in seconds
---@field json? table<string, any> # a path in the JSON body, such as "items.1.id", and its value
---@field min_events? integer # the fewest messages that the plan takes from a stream
---@field close_code? integer|integer[] # the codes of which the server closes a WebSocket with one, 1005 for none (default: 1000 or 1005)
---@field last? string # the last message that the plan takes from a stream, such as "[DONE]": the data of an event, or a line

---@class lgoose.Request: lgoose.Options
---@field method? string # (default: "GET")
---@field path string # joined to the host, and to the path of the host if it has one; a URL with its scheme is used as it is
---@field body? string|lgoose.File
