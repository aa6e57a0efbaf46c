local token = regex "name=(token"

task { function(user) user:get "/" end }
