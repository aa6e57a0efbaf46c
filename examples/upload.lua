-- Shows an upload as a browser's form sends it: fields and a file, in multipart/form-data.

plan { host = "demo:api", users = 3, run_time = "10s" }

task { "upload", wait = 1, function(user)
  local picture = random.string(20000)
  local answer = user:post("/upload", nil, {
    multipart = {
      title = "a picture of " .. random.words(2),
      picture = { filename = "picture.png", type = "image/png", data = picture },
    },
    expect = { status = 201 },
  })
  local file = answer:json().files[1]
  check(file.sha256 == hash.sha256(picture), "the file arrived whole")
end }

-- lgoose examples/upload.lua
