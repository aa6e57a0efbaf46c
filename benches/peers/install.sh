#!/usr/bin/env bash
# Installs the generators that run.sh compares lgoose with, and nginx, from the ordinary registries: wrk,
# nginx and h2load as Debian's packages, oha and Goose from crates.io, hey and k6 through the Go module proxy,
# Locust from PyPI. What is not a Debian package goes into PEERS_HOME, by default ~/.cache/lgoose-peers.
#   benches/peers/install.sh [wrk] [nginx] [h2load] [oha] [goose] [hey] [k6] [locust]    all, unless named
set -uo pipefail

peers="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
prefix="${PEERS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/lgoose-peers}"
PATH="$prefix/bin:$PATH:/usr/sbin"
missing=()

# need COMMAND WHAT: whether it is there, saying what it is when it is not.
need() {
  command -v "$1" >/dev/null || {
    echo "  '$1' is needed for it: install $2" >&2
    return 1
  }
}

debian() {
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  need apt-get "the package '$1' as your system does" || return
  "${sudo[@]}" apt-get install -y "$1" || { "${sudo[@]}" apt-get update && "${sudo[@]}" apt-get install -y "$1"; }
}

go_program() {
  need go "Go (go.dev)" && GOBIN="$prefix/bin" nice go install "$1"
}

install_one() {
  case "$1" in
    wrk) debian wrk ;;
    nginx) debian nginx-light ;;
    h2load) debian nghttp2-client ;;
    hey) go_program github.com/rakyll/hey@latest ;;
    k6) go_program go.k6.io/k6@latest ;;
    # Built as oha's own releases are.
    oha) need cargo "Rust (rustup.rs)" && nice cargo install oha --locked --profile release-ci --root "$prefix" ;;
    goose)
      need cargo "Rust (rustup.rs)" &&
        nice cargo install --locked --path "$peers/goose" --target-dir "$prefix/goose-target" --root "$prefix"
      ;;
    locust)
      need python3 "Python 3 with its module venv" && python3 -m venv "$prefix/locust" &&
        "$prefix/locust/bin/pip" install --quiet locust && mkdir -p "$prefix/bin" &&
        ln -sf "$prefix/locust/bin/locust" "$prefix/bin/locust"
      ;;
    *)
      echo "'$1' is not known: wrk, nginx, h2load, oha, goose, hey, k6, locust" >&2
      return 1
      ;;
  esac
}

# program NAME: the program that its installation brings.
program() {
  [ "$1" = goose ] && echo goose-drupal || echo "$1"
}

[ $# -gt 0 ] || set -- wrk nginx h2load oha goose hey k6 locust
for name in "$@"; do
  # Goose's plan is ours and may have changed: cargo knows.
  if [ "$name" != goose ] && command -v "$(program "$name")" >/dev/null; then
    echo "$name: $(command -v "$(program "$name")")"
  else
    echo "$name: installing"
    install_one "$name" || missing+=("$name")
  fi
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "not installed: ${missing[*]}; run.sh leaves them out" >&2
  exit 1
fi
