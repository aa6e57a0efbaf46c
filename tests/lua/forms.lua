-- Forms found on a page and submitted.

local test = require "test"
local same = test.same

task { "forms", function(user)
  local page = user:get "/form"
  local form = page:form "#order"
  same(form.method, "POST", "method")
  same(form.action, user.host .. "/echo", "action")
  same(form.fields.token, "a&b", "hidden field")
  same(form.fields.spam, nil, "a box that is not ticked")
  local echo = user:submit(form, { who = "me" }):json()
  same(echo.method, "POST", "sent by its method")
  same(echo.body, "token=a%26b&who=me&gift=yes&size=m&note=as+ever&op=Order", "its fields and the plan's over them")
  same(user:submit(form, { token = "c" }, { headers = { Via = "plan" } }):json().headers.via, "plan", "options")
  same(form.fields.who, "nobody", "the form itself is as it was")
  same(user:submit(page:form "#search"):json().path, "/echo?q=goose", "a form by GET")
  same(page:form "#none", nil, "no such form")
  same(page:form().fields.q, "goose", "the first form of the page")
  local ok, problem = pcall(user.submit, user, page:form "#none")
  assert(not ok and tostring(problem):find("not found", 1, true), "a form that is not there: " .. tostring(problem))
end }

local rows = file "data/users.csv"

task { "files", function(user)
  local text = data.text(rows)
  same(rows.name, "users.csv", "its name")
  same(rows.size, #text, "its size")
  same(data.bytes "data/users.csv", text, "its bytes")
  same(user:post("/echo", rows):json().body, text, "as a body")
  local sent = user:post("/echo", nil, { multipart = { a = rows, b = { filename = "b", type = "text/csv", data = rows } } }):json().body
  assert(sent:find('name="a"; filename="users.csv"', 1, true) and sent:find('name="b"; filename="b"', 1, true), sent)
  local _, times = sent:gsub(text:gsub("%p", "%%%0"), "")
  same(times, 2, "as parts")
  test.raises("outside the plan's folder", file, "../mod.rs")
  test.raises("there is no file", file, "data/none")
  test.raises("must be a string", file, 5)
  test.raises("'file.path' does not exist", function() return rows.path end)
end }

-- A form of this text on a page of the site.
local function form_of(user, text)
  return html.parse(text, user.host .. "/form"):form()
end

local SEVERAL = [[<form action="/echo?old=1" method="%s" enctype="%s">
<input name="b" value="1"><input name="a" value="2"><input name="b" value="3"><input type="checkbox" name="t" value="yes">
<button name="save" value="s">Save</button><input name="z" value="4">
<input type="submit" name="op" value="Preview"><input type="submit" name="op" value="Delete" formaction="/echo/gone">
<input type="image" name="map"></form>]]

task { "order and buttons", function(user)
  local form = form_of(user, SEVERAL:format("post", ""))
  local function sent(fields, options) return user:submit(form, fields, options):json() end
  same(form.enctype, "application/x-www-form-urlencoded", "enctype")
  same(sent().body, "b=1&a=2&b=3&save=s&z=4", "in the order of the page, with the first button")
  same(sent({ b = { "x", "y", "z" }, t = "yes" }).body, "b=x&a=2&b=y&b=z&t=yes&save=s&z=4", "a list, and a box that is ticked")
  same(sent({ b = {}, a = "&" }).body, "a=%26&save=s&z=4", "an empty list leaves a field out")
  same(sent(nil, { button = "op" }).body, "b=1&a=2&b=3&z=4&op=Preview", "a button by its name")
  local gone = sent({ a = 5 }, { button = "Delete" })
  same(gone.body, "b=1&a=5&b=3&z=4&op=Delete", "a button by its value")
  same(gone.path, "/echo/gone", "its own action")
  same(sent(nil, { button = "Save" }).body, "b=1&a=2&b=3&save=s&z=4", "a button by its caption")
  same(sent(nil, { button = "map" }).body, "b=1&a=2&b=3&z=4&map.x=0&map.y=0", "an image")
  same(sent(nil, { button = "save" }).body, "b=1&a=2&b=3&save=s&z=4", "the first one by its name")
  same(sent(nil, { button = false }).body, "b=1&a=2&b=3&z=4", "no button")
  same(sent({ op = "Other" }).body, "b=1&a=2&b=3&save=s&z=4&op=Other", "a button among the fields")
  test.raises("the form has no button with the name or the caption 'sav'; it has save = \"s\" ('Save'), op = \"Preview\"", user.submit, user, form,
    nil, { button = "sav" })
  test.raises("option 'button' must be", user.submit, user, form, nil, { button = 1 })
  test.raises("did you mean 'button'?", user.submit, user, form, nil, { buton = "op" })
  test.raises("unknown option 'button'", user.post, user, "/echo", nil, { button = "op" })
  test.raises("one body", user.submit, user, form, nil, { json = {} })
  local get = form_of(user, SEVERAL:format("get", "multipart/form-data"))
  same(user:submit(get, { a = "ü" }, { query = { more = 1 } }):json().path, "/echo?b=1&a=%C3%BC&b=3&save=s&z=4&more=1",
    "a form by GET replaces the query of its action")
  local own = { action = "/echo", method = "POST", fields = { b = 1, a = { 2, 3 } } }
  same(user:submit(own, { c = 4 }):json().body, "a=2&a=3&b=1&c=4", "a form of the plan's own")
end }

task { "encodings", function(user)
  local plain = user:submit(form_of(user, SEVERAL:format("post", "text/plain"))):json()
  same(plain.headers["content-type"], "text/plain", "plain text")
  same(plain.body, "b=1\r\na=2\r\nb=3\r\nsave=s\r\nz=4\r\n", "plain text")
  local form = form_of(user, [[<form action="/echo" method="post" enctype="Multipart/Form-Data">
    <input name="title" value="none"><input type="file" name="photo"><input type="file" name="other"><button name="op" value="go"></form>]])
  same(form.files[2], "other", "inputs for files")
  local parts = {}
  local echo = user:submit(form, { title = "ä", photo = { filename = "a.png", type = "image/png", data = "PNG" } }):json()
  local boundary = echo.headers["content-type"]:match "^multipart/form%-data; boundary=(.+)$"
  for head, data in echo.body:gmatch "content%-disposition: form%-data; (.-)\r\n\r\n(.-)\r\n%-%-" do
    parts[#parts + 1] = head .. " " .. data
  end
  assert(boundary and echo.body:find(boundary, 1, true), "the boundary")
  same(parts[1], 'name="title" ä', "a text")
  same(parts[2], 'name="photo"; filename="a.png"\r\ncontent-type: image/png PNG', "a file")
  same(parts[3], 'name="other"; filename=""\r\ncontent-type: application/octet-stream ', "an input without its file")
  same(parts[4], 'name="op" go', "the button")
  same(#parts, 4, "no more")
  local two = user:submit(form, { photo = { { filename = "1", data = "a" }, { filename = "2", data = "b" } }, other = {} }):json().body
  local _, photos = two:gsub('name="photo"; filename="[12]"', "")
  same(photos, 2, "two files in one field")
  assert(not two:find("other", 1, true), "left out")
  test.raises("unknown field 'file' in part 'photo'", user.submit, user, form, { photo = { file = "a", data = "b" } })
  local names = user:submit(form_of(user, '<form action="/echo" method="post"><input type="file" name="f"><input name="g">'),
    { f = { filename = "a b", data = "x" } }):json().body
  same(names, "f=a+b&g=", "of a file in a form that is URL-encoded, its name")
end }

task { "what is typed", function(user)
  local form = form_of(user, [[<form action="/echo" method="post"><input name="line"><textarea name="text"></textarea>
    <input type="email" name="mail"><input type="range" name="volume" max="10" step="2"><input type="number" name="count">
    <input type="hidden" name="raw"><button formaction="/echo/other">Send <b>it</b></button></form>]])
  same(form.fields.volume, "6", "a slider stands in its middle")
  same(form.types[4], "range 0 10 2 0", "the type of a field by its place")
  local echo = user:submit(form, { line = "a\nb", text = "a\nb", mail = " x@y ", volume = 7.2, count = "none", raw = "\r" }):json()
  same(echo.body, "line=ab&text=a%0D%0Ab&mail=x%40y&volume=8&count=&raw=%0D%0A", "as inputs take it")
  same(echo.path, "/echo/other", "the action of the button that Enter presses")
  same(user:submit(form, nil, { button = false }):json().path, "/echo", "no button")
  same(form.buttons[1].caption, "Send it", "its caption")
  local latin = form_of(user, '<form action="/echo" accept-charset="ISO-8859-1"><input name="n"></form>')
  same(user:submit(latin, { n = "é☃" }):json().path, "/echo?n=%E9%26%239731%3B", "in the character set that the page asks for")
  local dialog = form_of(user, '<form method="dialog"><input name="n"></form>')
  test.raises("closes its dialog and sends nothing", user.submit, user, dialog)
  test.raises("is not a URL", user.submit, user, form_of(user, '<form action="http://"><input name="n"></form>'))
end }
