local photo = file "../photo.jpg"

task { function(user) user:post("/", photo) end }
