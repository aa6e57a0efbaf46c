local names = io.open "names.txt"

task { function(user) user:get "/" end }
