# What the benchmarks share: the binary, targets on their own core, clean ends. Sourced, not run.
# shellcheck shell=bash

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
load_core="${LOAD_CORE:-0}"
target_core="${TARGET_CORE:-1}"
work="$(mktemp -d)"
running=()
PATH="$PATH:/usr/sbin"

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# finish PID: ends a process of ours and waits for it, killing it when it takes more than five seconds.
finish() {
  local pid="$1"
  kill "$pid" 2>/dev/null || return 0
  for _ in {1..50}; do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

clean_up() {
  local pid
  for pid in "${running[@]}"; do
    finish "$pid"
  done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# have_two_cores: the generator and the target must not share one.
have_two_cores() {
  command -v taskset >/dev/null || fail "'taskset' (util-linux) is needed to keep the target off the generator's core"
  taskset -c "$load_core" true 2>/dev/null && taskset -c "$target_core" true 2>/dev/null ||
    fail "cores $load_core and $target_core are needed: set LOAD_CORE and TARGET_CORE to two that exist"
  [ "$load_core" != "$target_core" ] || fail "LOAD_CORE and TARGET_CORE are the same core"
}

# find_lgoose: sets 'lgoose' to $LGOOSE or to a release build of this tree.
find_lgoose() {
  lgoose="${LGOOSE:-}"
  if [ -z "$lgoose" ]; then
    (cd "$here/.." && cargo build --release --locked)
    lgoose="${CARGO_TARGET_DIR:-$here/../target}/release/lgoose"
  fi
  [ -x "$lgoose" ] || fail "'$lgoose' is not a program: set LGOOSE to the lgoose to measure"
}

# wait_for PORT: until something listens there, ten seconds at most.
wait_for() {
  for _ in {1..100}; do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    sleep 0.1
  done
  fail "nothing listens on port $1"
}

free_port() {
  local port
  for _ in {1..100}; do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || {
      echo "$port"
      return
    }
  done
  fail "no free port between 20000 and 30000"
}

# start_demo [SITE]: runs a demo site, by default drupal, on the target's core; sets 'demo_port' and 'demo_pid'.
start_demo() {
  demo_port="$(free_port)"
  taskset -c "$target_core" "$lgoose" demo "${1:-drupal}" --port "$demo_port" >"$work/demo.log" 2>&1 &
  demo_pid=$!
  running+=("$demo_pid")
  wait_for "$demo_port"
}

# fetch PORT PATH: the whole answer, head and body.
fetch() {
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$2" "$1" >&3
  cat <&3
  exec 3<&-
}

# start_nginx PORT SERVERS: one worker on the target's core with these directives of the 'http' block, one of
# which listens on PORT; sets 'nginx_pid'. Its files are in $work/nginx.
start_nginx() {
  local files
  files="$(ulimit -n)"
  [ "$files" != unlimited ] || files=20000
  mkdir -p "$work/nginx"
  cat >"$work/nginx/nginx.conf" <<CONF
$([ "$(id -u)" != 0 ] || echo "user root;")
worker_processes 1;
worker_rlimit_nofile $files;
daemon off;
pid $work/nginx/pid;
error_log $work/nginx/error.log;
events { worker_connections $((files - 64)); }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path $work/nginx/body;
  proxy_temp_path $work/nginx/proxy;
  fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi;
  scgi_temp_path $work/nginx/scgi;
$2
}
CONF
  nginx -t -q -p "$work/nginx" -c "$work/nginx/nginx.conf" >"$work/nginx/out" 2>&1 ||
    fail "nginx does not take its configuration: $(tail -n 2 "$work/nginx/out")"
  taskset -c "$target_core" nginx -p "$work/nginx" -c "$work/nginx/nginx.conf" >"$work/nginx/out" 2>&1 &
  nginx_pid=$!
  running+=("$nginx_pid")
  wait_for "$1"
}

# two_bytes PORT: a server for start_nginx that answers so to every path.
two_bytes() {
  echo "server { listen 127.0.0.1:$1 backlog=4096; location / { default_type text/plain; return 200 ok; } }"
}

# memory PID FIELD: VmRSS or VmHWM (the most so far) in KiB; empty once the process has ended.
memory() {
  awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status" 2>/dev/null || true
}

# figure KEY FILE: that key of "aggregated" in a report, or of the report itself if it has no such object.
figure() {
  awk -v key="\"$1\":" '
    /^  "[a-z_]+":/ { inside = /"aggregated"/ }
    (inside || /^  "/) && $1 == key { gsub(/,/, "", $2); print $2; exit }' "$2"
}

machine() {
  echo "$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
}
