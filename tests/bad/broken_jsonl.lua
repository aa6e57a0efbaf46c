local events = data.jsonl "broken.jsonl"

task { function(user) user:get "/" end }
