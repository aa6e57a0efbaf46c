on("reprot", function(report) end)
task { function(user) user:get "/" end }
