local tags = json.array { first = "red" }

task { function(user) user:post("/", nil, { json = { tags = tags } }) end }
