---@meta
-- What a request may be told: the last argument of user:get, user:post and so on.

---@class lgoose.Options
---@field name? string # the row under which the request is counted (default: the task's name, else the path)
---@field headers? table<string, string|number|boolean>
---@field cookies? table<string, string|number|boolean> # sent with this request alone, over the user's own of the same name
---@field query? table<string, any> # appended to the path, encoded
---@field form? table<string, any> # the body, URL-encoded; a list gives a field several times
---@field json? any # the body, as JSON
---@field multipart? table<string, any>|lgoose.Part[] # the body, as multipart/form-data: by name (a list gives a name several times), or parts in their order
---@field timeout? lgoose.Duration # seconds (default: the plan's, 60)
---@field redirects? integer # followed at most, one more is a failure; 0 = do not follow (default: 10)
---@field max_redirects? integer # followed, the next one is the answer, with its status (default: the plan's)
---@field expect? lgoose.Expect # what makes the request a success besides a status below 400
---@field auth? string|lgoose.Credentials|lgoose.Bearer # "user:password" or { "user", "password" } for basic authentication
---@field compress? "gzip" # compress the body
---@field discard? boolean # count the body, do not keep it (default: false)
---@field allow_failure? boolean # a bad status is no failure (default: false)
---@field tags? table<string, string|number|boolean> # what reports and thresholds tell it apart by: { region = "eu" }

---@class lgoose.TransactionOptions
---@field tags? table<string, string|number|boolean> # of the requests within it

---@class lgoose.SubmitOptions: lgoose.Options
---@field button? string|false # the name or the value of the button to press (default: the first; false: none)

---User name and password.
---@class lgoose.Credentials
---@field [1] string
---@field [2] string
---@field digest? boolean # what the site asks for by a challenge, not basic authentication; the first request is sent twice

---A token for `Authorization: Bearer …`.
---@class lgoose.Bearer
---@field bearer string

---A file, or another part of a multipart body.
---@class lgoose.Part
---@field name? string # of the field, in a list of parts
---@field filename? string
---@field type? string # the media type, such as "image/png" (default: by the end of the file's name)
---@field data string|number|boolean|lgoose.File

---Checked by lgoose on the answer; the first miss marks the request as failed, the task goes on.
---@class lgoose.Expect
---@field status? integer|integer[] # of the final answer (default: any below 400)
---@field title? string|lgoose.Regex # what the page's title must begin with, or a pattern that it must match
---@field text? string|string[] # what the body must contain
---@field no_text? string|string[] # what the body must not contain
---@field header? table<string, string|true> # a header and its value, or true for any
---@field redirect? boolean|string # whether it was redirected, or the path or URL that it led to
---@field under? lgoose.Duration # seconds that it may take at most
---@field json? table<string, any> # path in the JSON body, such as "items.1.id", and its value

---@class lgoose.Request: lgoose.Options
---@field method? string # (default: "GET")
---@field path string # joined to the host; an absolute URL wins
---@field body? string|lgoose.File
