# The generators: what their programs are called, whether they are there, and how each is told to do the same
# work. Sourced by run.sh.
# shellcheck shell=bash disable=SC2154

prefix="${PEERS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/lgoose-peers}"
PATH="$prefix/bin:$PATH"

# program_of ROW: the program behind a row of the table.
program_of() {
  case "$1" in
    wrk*) echo wrk ;;
    Goose) echo goose-drupal ;;
    Locust) echo locust ;;
    lgoose) echo "$lgoose" ;;
    *) echo "$1" ;;
  esac
}

# command_of ROW: sets 'argv' to what does the case's work: 'users' users against 'url' for 'run_s' seconds,
# by the plan 'plan' ("tiny" or "drupal") where the generator has plans.
command_of() {
  local lua="$here/tiny.lua"
  [ "$plan" = tiny ] || lua="$here/../plans/$plan.lua"
  case "$1" in
    lgoose)
      argv=("$lgoose" "$lua" -H "$url" -u "$users" -r 100000 -t "${run_s}s" -q -o "json=$work/run.json" "${lgoose_options[@]}")
      ;;
    wrk) argv=(wrk -t 1 -c "$users" -d "${run_s}s" --timeout 10s "$url/") ;;
    "wrk with Lua") argv=(wrk -t 1 -c "$users" -d "${run_s}s" --timeout 10s -s "$here/wrk_hook.lua" "$url/") ;;
    oha) argv=(oha --no-tui -z "${run_s}s" -c "$users" "${oha_options[@]}" "$url/") ;;
    hey) argv=(hey -z "${run_s}s" -c "$users" "$url/") ;;
    h2load) argv=(h2load -t 1 -c "$users" -m 1 -D "$run_s" "$url/") ;;
    k6)
      argv=(env NO_COLOR=1 k6 run --quiet --no-usage-report --address "" -e "TARGET=$url" -e "USERS=$users"
        -e "DURATION=${run_s}s" "$peers/k6/$plan.js")
      ;;
    Locust)
      argv=(locust -f "$peers/locust/$plan.py" --headless --only-summary -H "$url" -u "$users"
        -r "$users" -t "${run_s}s" --exit-code-on-error "$([ -n "$failures_expected" ] && echo 0 || echo 1)")
      ;;
    Goose)
      argv=(goose-drupal -H "$url" --users "$users" --increase-rate "$users" --run-time "${run_s}s"
        --no-reset-metrics --no-telnet --no-error-summary --quiet)
      ;;
    *) fail "'$1' is not a generator" ;;
  esac
}
