-- A share of traces has its own grammar.
plan { host = "http://127.0.0.1:1", trace_sample = "one in ten" }
task { function(user) user:get "/" end }
