# What each generator asked for, as shares; for run.sh.
#   in   generator, kind, status, requests, bytes of the bodies; tabs between
# A kind whose share is more than two points from lgoose's, a status that lgoose did not get, and bodies of
# another size are named: then it was not the same work.

BEGIN { FS = "\t" }

!($1 in all) { rows[++row_count] = $1 }
!(($2 " " $3) in seen) { kinds[++kind_count] = $2 " " $3; seen[$2 " " $3] }
{ all[$1] += $4; count[$1, $2 " " $3] += $4; bytes[$1, $2 " " $3] += $5 }

END {
  for (i = 2; i <= kind_count; i++)
    for (j = i; j > 1 && kinds[j] < kinds[j - 1]; j--) { t = kinds[j]; kinds[j] = kinds[j - 1]; kinds[j - 1] = t }
  printf "%-24s", ""
  for (r = 1; r <= row_count; r++) printf " %10s", rows[r]
  print ""
  for (k = 1; k <= kind_count; k++) {
    printf "%-24s", kinds[k]
    for (r = 1; r <= row_count; r++) printf " %10.2f", share(rows[r], kinds[k])
    print ""
  }
  printf "%-24s", "requests in all"
  for (r = 1; r <= row_count; r++) printf " %10d", all[rows[r]]
  print "\n"
  if (!("lgoose" in all)) exit
  for (r = 1; r <= row_count; r++)
    for (k = 1; k <= kind_count; k++) compare(rows[r], kinds[k])
  if (!differs) print "the generators did the same work, within two points"
}

function share(row, kind) { return 100 * count[row, kind] / all[row] }

function compare(row, kind,    far, mean, other) {
  far = share(row, kind) - share("lgoose", kind)
  mean = count["lgoose", kind] ? bytes["lgoose", kind] / count["lgoose", kind] : 0
  other = count[row, kind] ? bytes[row, kind] / count[row, kind] : 0
  if (far > 2 || far < -2)
    say(row, kind, sprintf("%.1f %% of the requests, lgoose's %.1f %%", share(row, kind), share("lgoose", kind)))
  else if (!mean != !other && share(row, kind) + share("lgoose", kind) > 0.1)
    say(row, kind, sprintf("%d requests, lgoose %d", count[row, kind], count["lgoose", kind]))
  else if (mean && other && (other > 1.02 * mean || other < 0.98 * mean))
    say(row, kind, sprintf("%d bytes a body, lgoose %d", other, mean))
}

function say(row, kind, what) {
  differs = 1
  printf "NOT the same work: %s, %s: %s\n", row, kind, what
}
