#!/usr/bin/env bash
# A WordPress from Debian's packages (wordpress, wordpress-theme-twentytwentythree, php-cli, php-mysql, mariadb-server) on
# a free port of 127.0.0.1, with three posts that are open for comments and a user. Everything it writes is in a temporary
# folder, and all of it is gone when standard input is closed. Prints the URL, the user and the password on one line when
# it is ready; exits with 77 and says why if something that it needs is not installed.
set -euo pipefail

WORDPRESS=${WORDPRESS:-/usr/share/wordpress}
export PATH=$PATH:/usr/sbin

skip() {
  echo "skipped: $1" >&2
  exit 77
}
for command in php mariadbd mariadb-install-db mariadb; do
  command -v "$command" >/dev/null || skip "'$command' is not installed"
done
[[ -f $WORDPRESS/wp-settings.php ]] || skip "there is no WordPress in $WORDPRESS"
compgen -G "$WORDPRESS/wp-content/themes/*/style.css" >/dev/null || skip "WordPress has no theme"
php -r 'exit(extension_loaded("mysqli") ? 0 : 1);' || skip "PHP's extension 'mysqli' is not installed"

work=$(mktemp -d)
# What runs in the background has a process group each: PHP's server leaves its workers behind when it alone is ended.
set -m
children=()
finish() {
  for child in "${children[@]}"; do
    kill -- "-$child" 2>/dev/null || true
  done
  for child in "${children[@]}"; do
    wait "$child" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT

# Waits for a command to succeed, as long as the process that should make it so is alive.
await() {
  local child=$1
  shift
  for _ in {1..600}; do
    "$@" >/dev/null 2>&1 && return
    kill -0 "$child" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

# The database, with a socket in the folder and no port.
mkdir "$work/data"
identity=()
if [[ $EUID == 0 ]]; then
  chmod 711 "$work"
  chown mysql "$work/data"
  identity=(--user=mysql)
fi
mariadb-install-db --no-defaults "${identity[@]}" --datadir="$work/data" --auth-root-authentication-method=normal \
  --skip-test-db >"$work/install.log" 2>&1
mariadbd --no-defaults "${identity[@]}" --datadir="$work/data" --socket="$work/data/socket" --skip-networking \
  --innodb-flush-log-at-trx-commit=0 --pid-file="$work/data/pid" >"$work/database.log" 2>&1 </dev/null &
children+=($!)
database=(mariadb --no-defaults --user=root --socket="$work/data/socket")
await $! "${database[@]}" -e 'SELECT 1' || {
  cat "$work/database.log" >&2
  exit 1
}
"${database[@]}" -e 'CREATE DATABASE wordpress'

# Debian's WordPress with a configuration and content of our own.
cp -rL "$WORDPRESS" "$work/site"
rm -rf "$work/site/wp-config.php"
port=$(php -r '$s = stream_socket_server("tcp://127.0.0.1:0"); echo explode(":", stream_socket_get_name($s, false))[1];')
url=http://127.0.0.1:$port
cat >"$work/site/wp-config.php" <<PHP
<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:$work/data/socket');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_HOME', '$url');
define('WP_SITEURL', '$url');
define('AUTH_KEY', 'for a test');
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
\$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
  define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
PHP
# 'wp_mail' has to be ours before WordPress defines its own: nobody is written to.
cat >"$work/install.php" <<'PHP'
<?php
define('WP_INSTALLING', true);
function wp_mail() { return true; }
$_SERVER['HTTP_HOST'] = substr($argv[2], strlen('http://'));
require $argv[1] . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A test', 'editor', 'editor@example.org', true, '', 'a password');
update_option('comment_moderation', 0);
update_option('comment_previously_approved', 0);
for ($i = 1; $i <= 3; $i++) {
  wp_insert_post(['post_title' => "Post number $i", 'post_content' => "Some words about kettles, $i.",
    'post_status' => 'publish', 'comment_status' => 'open', 'post_author' => 1]);
}
// Comments within 15 seconds of each other are refused as a flood; a load test is one.
mkdir(WP_CONTENT_DIR . '/mu-plugins');
file_put_contents(WP_CONTENT_DIR . '/mu-plugins/no-flood.php',
  "<?php\nadd_filter('wp_is_comment_flood', '__return_false', 99);\n");
PHP
php "$work/install.php" "$work/site" "$url" >"$work/install.log" 2>&1 || {
  cat "$work/install.log" >&2
  exit 1
}

PHP_CLI_SERVER_WORKERS=4 php -d opcache.enable_cli=1 -S "127.0.0.1:$port" -t "$work/site" >"$work/site.log" 2>&1 </dev/null &
children+=($!)
await $! php -r 'exit(@file_get_contents($argv[1]) ? 0 : 1);' "$url/" || {
  tail "$work/site.log" >&2
  exit 1
}
printf '%s\t%s\t%s\n' "$url" editor 'a password'

# Until nobody wants it any more.
cat >/dev/null
