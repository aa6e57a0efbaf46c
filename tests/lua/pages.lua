-- What can be found in a page: elements, texts, and the same from html.parse.

local test = require "test"
local same, raises = test.same, test.raises

task { "elements", function(user)
  local page = user:get "/form"
  local items = page:css "#list li"
  same(#items, 2, "number of elements")
  same(items[2]:text(), "two", "text of an element")
  same(items[2]:attr "data-n", "2", "its attribute")
  same(items[2].attrs["data-n"], "2", "its attributes")
  same(items[1]:attr "none", nil, "no such attribute")
  same(items[1]:html(), '<li data-n="1">one</li>', "its HTML")
  same(#page:css("#list")[1]:css "li", 2, "elements within one")
  same(#page:css "table", 0, "nothing found")
  local ok, problem = pcall(function() return page:css "li[" end)
  assert(not ok and tostring(problem):find("selector", 1, true), "a bad selector is told: " .. tostring(problem))
end }

task { "html.parse", function(user)
  local page = html.parse [[<title>Log in</title><p id=a class=x>one</p><p>two</p>
    <form action="/user?d=1" method=post><input name=token value=t1></form>]]
  same(page:title(), "Log in", "title")
  same(page:text "#a", "one", "text")
  same(page:attr("p", "class"), "x", "attribute")
  same(page:css("p")[2]:text(), "two", "element")
  same(page:form().fields.token, "t1", "form")
  same(html.parse(user:get("/form").body):title(), "A form & more", "a body")
end }

task { "mistakes", function(user)
  local page = user:get "/form"
  raises("did you mean 'title'?", function() return page.titel end)
  raises("did you mean 'text'?", function() return page:css("h1")[1].txt end)
  raises("did you mean 'title'?", function() return html.parse("<p>").titel end)
  raises("must be a string, not a number", page.css, page, 5)
  raises("is not a CSS selector", page.form, page, "form[")
  raises("expected a string here, not nil", page.attr, page, "h1")
  raises("write response:method", function() return page.title() end)
  raises("a filter must be", page.assets, page, 5)
  raises("cannot set 'body'", function() page.body = "x" end)
end }

task { "where a request was found", function(user)
  local function told(response)
    local headers = response:json().headers
    return tostring(headers.referer) .. " " .. tostring(headers.origin)
  end
  local page = user:get "/linking?a=1"
  local from, site = user.host .. "/linking?a=1", user.host
  same(told(user:get "/echo"), "nil nil", "a path of the plan's own")
  same(told(user:submit(page:form "#post")), from .. " " .. site, "a form")
  same(told(user:submit(page:form "#get")), from .. " nil", "a form that changes nothing")
  same(page:form().page, from, "the page of a form")
  local link = page:links()[1]
  same(told(user:get(link)), from .. " nil", "a link")
  same(told(user:post(link)), from .. " " .. site, "a link that is sent to")
  same(told(user:fetch(page:assets())[1]), from .. " nil", "an asset")
  same(told(user:get(link, { cookies = { a = "b" } })), from .. " nil", "a link with options")
  same(told(user:get(link, { headers = { Referer = "own" } })), "own nil", "the plan's own wins")
  user:set_header("Referer", "mine")
  same(told(user:get(link)), "mine nil", "the user's own wins")
  user:set_header("Referer", nil)
  same(told(user:get "/echo?link"), "nil nil", "no link as the page has it")
  for _ = 1, 4 do user:get("/linking"):links() end
  same(told(user:get(page:links()[1])), from .. " nil", "asked for once more")
  same(html.parse("<form action=/x>"):form().page, nil, "a page without a URL")
  same(html.parse("<form action=/x>", "http://a/b"):form().page, "http://a/b", "a page with a URL")
end }

task { "xml", function(user)
  local text = '<?xml version="1.0"?><s:Envelope xmlns:s="urn:soap"><s:Body><orderId kind="new">7 &lt; 8</orderId>'
    .. '<item n="1"/><item n="2"><![CDATA[<b>]]></item><Item/></s:Body></s:Envelope>'
  local envelope = xml.parse(user:post("/echo", text):json().body)
  same(envelope:text "Body orderId", "7 < 8", "a text")
  same(envelope:attr("orderId", "kind"), "new", "an attribute")
  same(#envelope:css "item", 2, "in their case")
  same(envelope:css("item")[2]:text(), "<b>", "a section of text")
  same(envelope:css("Body")[1]:css("item")[1].attrs.n, "1", "within an element")
  same(envelope:text "body", nil, "no such element")
  same(tostring(envelope), "XML document", "as text")
  raises("this is not XML: line 2", xml.parse, "<a>\n<b></a>")
  raises("not an entity of XML", xml.parse, "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>")
  raises("not UTF-8", xml.parse, "<a>\xff</a>")
  raises("deep", xml.parse, ("<a>"):rep(100000))
  raises("expected a string", xml.parse, {})
  raises("did you mean 'css'?", function() return envelope:csss "a" end)
end }
