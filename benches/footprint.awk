# Compares two profiles of callgrind (with addresses and without compression), and prints what a request costs. For
# benches/footprint.sh, which sets name, unit, few and many (requests or other units of each profile) and top (functions to list).

FNR == 1 { file++ }
/^fn=/ { function_name = substr($0, 4); next }
# The line after a call has what the callee took, which is counted there.
/^calls=/ { skip = 1; next }
/^0x/ {
  if (skip) {
    skip = 0
    next
  }
  # address line Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
  sign = file == 1 ? -1 : 1
  count[$1] += sign * $3
  spent[function_name] += sign * $3
  instructions += sign * $3
  code_misses += sign * $6
  data_misses += sign * ($7 + $8)
}

END {
  requests = many - few
  for (address in count) {
    # Executed for at least every second request.
    if (count[address] >= requests / 2) {
      different++
      lines[int(strtonum(address) / 64)]
    }
  }
  printf "%s: %d instructions for each %s, %d different ones on %d cache lines; first-level misses: %d of code, %d of data (%d of them)\n",
    name, instructions / requests, unit, different, length(lines), code_misses / requests, data_misses / requests, requests
  if (top) {
    PROCINFO["sorted_in"] = "@val_num_desc"
    for (one in spent) {
      printf "%8d  %s\n", spent[one] / requests, one
      if (++shown == top) break
    }
  }
}
