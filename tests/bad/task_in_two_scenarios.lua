local front_page = task { "front page", function(user) user:get "/" end }

scenario { "visitor", front_page }
scenario { "member", front_page }
