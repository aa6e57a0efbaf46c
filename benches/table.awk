# Figures of runs in turns, as a table with a row a tool; for cpu.sh and peers/run.sh.
#   in   round, tool, requests, seconds, CPU seconds, peak KiB[, connections]; tabs between
#   -v anchor=TOOL   the tool of the ratios; without it in the input there are none
#   -v against=yes   the anchor's figures divided by each tool's, for CPU and for requests per second;
#                    otherwise each tool's CPU divided by the anchor's
#   -v goals="TOOL:cpu:MOST;TOOL:rate:LEAST"   with 'against': bounds of these ratios, judged below the table
# Times are medians of the rounds, ratios are medians of the ratios within each round, since rounds differ
# more than tools do.

BEGIN { FS = "\t" }

function median(list, n,    i, j, t) {
  if (n == 0) return 0
  for (i = 2; i <= n; i++)
    for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function ratio(list, n) { return n ? sprintf("%.2f", median(list, n)) : "-" }

!($2 in sum) { tools[++count] = $2 }
{
  sum[$2] += $3
  us[$2, $1] = $5 * 1e6 / $3
  rate[$2, $1] = $3 / $4
  if ($6 > peak[$2]) peak[$2] = $6
  connections[$2] = $7
  has_connections = has_connections || NF > 6
  if ($1 > rounds) rounds = $1
}

END {
  printf "%-24s %12s %12s %13s %10s %9s", "", "requests", "CPU µs/req", "least–most", "req/s", "KiB"
  printf has_connections ? sprintf(" %7s", "conns") : ""
  print against ? sprintf(" %9s %10s", "CPU ratio", "rate ratio") : sprintf(" %8s", "ratio")
  for (t = 1; t <= count; t++) {
    tool = tools[t]; least = 1e9; most = 0; n = 0; m = 0
    for (r = 1; r <= rounds; r++) {
      if (!((tool, r) in us)) continue
      time = us[tool, r]; a[++n] = time; b[n] = rate[tool, r]
      if (time < least) least = time
      if (time > most) most = time
      if (!((anchor, r) in us)) continue
      m++
      c[m] = against ? us[anchor, r] / time : time / us[anchor, r]
      d[m] = rate[anchor, r] / rate[tool, r]
    }
    printf "%-24s %12d %11.2f %7.2f–%5.2f %10.0f %9d", tool, sum[tool], median(a, n), least, most, median(b, n), peak[tool]
    printf has_connections ? sprintf(" %7d", connections[tool]) : ""
    print against ? sprintf(" %9s %10s", ratio(c, m), ratio(d, m)) : sprintf(" %8s", ratio(c, m))
    judged[tool, "cpu"] = ratio(c, m); judged[tool, "rate"] = ratio(d, m)
  }
  judge()
}

function judge(    list, part, n, i, value, is_met) {
  n = split(goals, list, ";")
  if (n && anchor in sum) print ""
  for (i = 1; i <= n; i++) {
    split(list[i], part, ":")
    value = judged[part[1], part[2]]
    if (value == "" || value == "-") continue
    is_met = part[2] == "cpu" ? value <= part[3] + 0 : value >= part[3] + 0
    printf "%s %s %s × %s: %s, %s\n", part[2] == "cpu" ? "CPU per request" : "requests per second",
      part[2] == "cpu" ? "at most" : "at least", part[3], part[1], value, is_met ? "met" : "NOT met"
  }
}
