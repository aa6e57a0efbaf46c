local visit = { front_page = function(user) user:get "/" end }

visit.frontpage()

task { visit.front_page }
