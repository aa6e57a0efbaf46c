local front_page = task { "front page", function(user) user:get "/" end }

scenario { "visitor", front_page, front_page }
