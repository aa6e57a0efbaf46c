if not env "SITE_PASSWORD_OF_NOBODY" then
  error "set SITE_PASSWORD_OF_NOBODY with -e"
end

task { function(user) user:get "/" end }
