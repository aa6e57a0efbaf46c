task { "front page", weight = 3 }
