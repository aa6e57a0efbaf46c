task { "front page", (user) => user:get("/") }
