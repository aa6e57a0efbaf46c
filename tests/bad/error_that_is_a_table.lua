error { code = 5 }
