scenario { "visitor", weight = 4 }
