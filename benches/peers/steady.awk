# The spread of a load over time: a line with the mean, the least and the most requests in a tenth of a second,
# and their coefficient of variation (standard deviation divided by mean) in percent.
#   in   the moment of each answer in seconds, one a line
#   -v row=NAME -v round=N   printed in front
#   -v seconds=N             how many count; the first second of the run does not

{
  if (!begin) begin = $1 + 1
  tenth = int(($1 - begin) * 10)
  if ($1 >= begin && tenth < seconds * 10) count[tenth]++
}

END {
  n = seconds * 10
  for (i = 0; i < n; i++) sum += count[i]
  mean = sum / n
  least = count[0]
  for (i = 0; i < n; i++) {
    squares += (count[i] - mean) ^ 2
    if (count[i] < least) least = count[i]
    if (count[i] > most) most = count[i]
  }
  printf "%-24s %6s %8.0f %8d %8d %8.2f\n", row, round, mean, least, most, 100 * sqrt(squares / n) / mean
}
