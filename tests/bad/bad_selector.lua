local page = html.parse "<p>one</p>"
local first = page:text "p >"

task { function(user) user:get "/" end }
