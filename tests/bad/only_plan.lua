plan { host = "demo:drupal" }
