# The targets, all from one nginx: two bytes over HTTP, TLS and HTTP/2, one failure in ten, and a Drupal site
# of files as plans/drupal.lua asks for them. Sourced by run.sh, after ../common.sh.
# shellcheck shell=bash

# What a front page refers to and the plan loads: the paths of Drupal 7's standard theme.
site_assets=(
  misc/jquery.js misc/jquery-extend-3.4.0.js misc/jquery-html-prefilter-3.5.0-backport.js misc/jquery.once.js
  misc/drupal.js misc/feed.png themes/bartik/logo.png themes/bartik/css/layout.css themes/bartik/css/style.css
  themes/bartik/css/colors.css themes/bartik/css/print.css
)

# filler BYTES: so many bytes of text.
filler() {
  awk -v bytes="$1" 'BEGIN {
    line = "<p>Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.</p>\n"
    while (length(text) < bytes) text = text line
    printf "%s", substr(text, 1, bytes) }'
}

# page FILE TITLE: a page of 'page_bytes' around the HTML that comes on standard input.
page() {
  local file="$work/site/$1" asset
  {
    printf '<!DOCTYPE html>\n<html>\n<head>\n<title>%s | peers</title>\n<style>\n' "$2"
    for asset in "${site_assets[@]}"; do
      [[ "$asset" != *.css ]] || printf '@import url("%s/%s?v1");\n' "$drupal_url" "$asset"
    done
    printf '</style>\n'
    for asset in "${site_assets[@]}"; do
      [[ "$asset" != *.js ]] || printf '<script src="%s/%s?v1"></script>\n' "$drupal_url" "$asset"
    done
    printf '</head>\n<body>\n<img src="%s/themes/bartik/logo.png" alt="Home" />\n' "$drupal_url"
    cat
    printf '<img src="%s/misc/feed.png" alt="Subscribe" />\n' "$drupal_url"
  } >"$file"
  filler $((page_bytes - $(wc -c <"$file") - 15)) >>"$file"
  printf '\n</body></html>' >>"$file"
}

# form ID ACTION FORM_ID: with the hidden fields that Drupal puts into it; other fields on standard input.
form() {
  printf '<form action="%s" method="post" id="%s">\n' "$2" "$1"
  cat
  printf '<input type="hidden" name="form_build_id" value="form-%s" />\n' "dGhlIGJ1aWxkIGlkIG9mIGEgZm9ybSBvZiB0aGUgcGVlcnM"
  [ "$3" = user_login ] || printf '<input type="hidden" name="form_token" value="%s" />\n' "dGhlIHRva2VuIG9mIGEgc2Vzc2lvbg"
  printf '<input type="hidden" name="form_id" value="%s" />\n</form>\n' "$3"
}

# make_site: the pages for visitors ("anon") and members ("auth"), and the assets.
make_site() {
  local asset who
  mkdir -p "$work/site/misc" "$work/site/themes/bartik/css"
  for asset in "${site_assets[@]}"; do
    filler "$asset_bytes" >"$work/site/$asset"
  done
  for who in anon auth; do
    page "front.$who.html" "Welcome to peers" <<<"<h1>Welcome</h1>"
    page "profile.$who.html" "user7" <<<"<h1>user7</h1>"
  done
  page node.anon.html "Article" <<<'<h1>Article</h1><a href="/user">Log in</a> to post comments'
  form user-login /user user_login <<<'<input type="text" id="edit-name" name="name" />
<input type="password" id="edit-pass" name="pass" /><input type="submit" name="op" value="Log in" />' |
    page login.html "User account"
  comment_form | page node.auth.html "Article"
  { echo '<div class="messages status">Your comment has been posted.</div><p>this is a test comment body</p>' && comment_form; } |
    page posted.auth.html "Article"
}

# Every article is the same file: nginx answers a comment on any of them.
comment_form() {
  form comment-form /comment/reply/1 comment_node_article_form <<<'<input type="text" name="subject" />
<textarea name="comment_body[und][0][value]"></textarea><select name="comment_body[und][0][format]">
<option value="filtered_html" selected="selected">Filtered HTML</option><option value="plain_text">Plain text</option></select>
<input type="submit" name="op" value="Save" />'
}

# certificate: for 127.0.0.1, signed by itself; not a certificate authority, so that every TLS library takes it
# as a server's.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 \
    -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/openssl.log" || fail "openssl: $(tail -n 1 "$work/openssl.log")"
}

# start_site: sets 'tiny_url', 'errors_url', 'tls_url', 'http2_url', 'drupal_url', 'steady_url', 'status_port' and
# 'nginx_pid'.
start_site() {
  local ports=() port
  while [ "${#ports[@]}" -lt 7 ]; do
    port="$(free_port)"
    [[ " ${ports[*]} " == *" $port "* ]] || ports+=("$port")
  done
  status_port="${ports[0]}"
  tiny_url="http://127.0.0.1:${ports[1]}"
  errors_url="http://127.0.0.1:${ports[2]}"
  tls_url="https://127.0.0.1:${ports[3]}"
  http2_url="https://127.0.0.1:${ports[4]}"
  drupal_url="http://127.0.0.1:${ports[5]}"
  steady_url="http://127.0.0.1:${ports[6]}"
  make_site
  certificate
  mkdir -p "$work/nginx"
  : >"$work/mix.log"
  : >"$work/steady.log"
  start_nginx "$status_port" "$(servers)"
}

servers() {
  local ok='default_type text/plain; return 200 ok;'
  cat <<CONF
  ssl_certificate $work/cert.pem;
  ssl_certificate_key $work/key.pem;
  ssl_protocols TLSv1.2 TLSv1.3;
  types { text/html html; application/javascript js; text/css css; image/png png; }
  open_file_cache max=100;
  split_clients "\$connection \$connection_requests" \$fails { 10% 1; * ""; }
  map \$http_cookie \$who { default anon; ~SESS auth; }
  map \$arg_posted \$article { default node; 1 posted; }
  map "\$request_method \$request_uri" \$kind {
    "GET /" "front page";
    "~^GET /node/" "node page";
    "~^GET /user/" "user page";
    "~^GET /(misc|themes)/" "static asset";
    "GET /user" "login form";
    "POST /user" "log in";
    "~^POST /comment/" "comment";
    default "other";
  }
  log_format mix "\$kind\t\$status\t\$body_bytes_sent";
  log_format moment "\$msec";

  server { listen 127.0.0.1:$status_port; location / { stub_status; } }
  server { listen ${tiny_url#http://} backlog=16384; location / { $ok } }
  server {
    listen ${steady_url#http://} backlog=4096;
    access_log $work/steady.log moment buffer=1m flush=1s;
    location / { $ok }
  }
  server { listen ${tls_url#https://} ssl backlog=4096; location / { $ok } }
  server { listen ${http2_url#https://} ssl http2 backlog=4096; location / { if (\$server_protocol != HTTP/2.0) { return 505; } $ok } }
  server {
    listen ${errors_url#http://} backlog=4096;
    location / {
      default_type text/plain;
      if (\$fails) { return 500 no; }
      return 200 ok;
    }
  }
  server {
    listen ${drupal_url#http://} backlog=4096;
    root $work/site;
    access_log $work/mix.log mix buffer=1m flush=1s;
    location = / { try_files /front.\$who.html =404; }
    location /node/ { try_files /\$article.\$who.html =404; }
    location /user/ { try_files /profile.\$who.html =404; }
    location = /user {
      if (\$request_method = POST) {
        add_header Set-Cookie "SESSpeers=$RANDOM$RANDOM; path=/; HttpOnly";
        return 302 $drupal_url/user/7;
      }
      try_files /login.html =404;
    }
    location ~ ^/comment/reply/(\d+)\$ { return 302 $drupal_url/node/\$1?posted=1#comment-1; }
    location /misc/ { }
    location /themes/ { }
  }
CONF
}
