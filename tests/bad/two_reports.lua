task { function(user) user:get "/" end }

on("report", function(report) return report.verdict.text end)
on("report", function(report) return { ["count.txt"] = tostring(report.aggregated.count) } end)
