//! A real nginx with its access logs (Debian: `apt-get install nginx-light`); without one a test says "skipped" and passes, and fails
//! with `LGOOSE_NEED_NGINX=1`.

use crate::program::{empty_folder, process_id, signal, wait_until};
use crate::skipping::skip;
use rustix::process::Signal;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The format of `full.log`, as a user would give it to `lgoose audit --log-format`.
pub(crate) const FULL: &str = "$remote_addr [$time_local] $msec \"$request\" $status $bytes_sent \"$http_user_agent\" \
     $request_time $upstream_response_time \"$http_traceparent\"";

/// The pages of the site: some bytes, redirects, errors, and one that takes a minute to send.
const PAGES: &str = "
    location / { try_files $uri =404; }
    location = /slow { limit_rate 3k; try_files /large.txt =404; }
    location = /moved { return 302 /moved/again; }
    location = /moved/again { return 302 /moved/last; }
    location = /moved/last { return 301 /page.html; }
    location = /form { return 303 /page.html; }
    location = /busy { return 503; }
";

/// A running nginx; ended when this is dropped.
pub(crate) struct Nginx {
    pub(crate) folder: PathBuf,
    server: Child,
    ports: [u16; 2],
    /// The Unix socket that it listens at, too. Its path must be short.
    socket: PathBuf,
}

impl Nginx {
    /// Starts one with a folder of its own; `None` if this machine has none.
    pub(crate) fn start(name: &str) -> Option<Nginx> {
        let folder = empty_folder(&format!("nginx_{name}"));
        fs::create_dir(folder.join("www")).expect("it is empty");
        let page = "x".repeat(3_000);
        fs::write(folder.join("www/page.html"), page).expect("a page");
        let large = "y".repeat(200_000);
        fs::write(folder.join("www/large.txt"), large).expect("a page");
        // Who else takes a port meanwhile makes the server end.
        for _ in 0..20 {
            let free = || TcpListener::bind("127.0.0.1:0").expect("a port");
            let listeners = [free(), free()];
            let ports = listeners.each_ref().map(port);
            drop(listeners);
            let path = folder.join("nginx.conf");
            let socket = std::env::temp_dir().join(format!("lgoose-nginx-{}.sock", ports[0]));
            fs::write(&path, configuration(&folder, ports, &socket))
                .expect("the folder takes a file");
            let started = Command::new("nginx")
                .arg("-p")
                .arg(&folder)
                .arg("-c")
                .arg(&path)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let server = match started {
                Ok(server) => server,
                Err(error) => {
                    let needed = std::env::var_os("LGOOSE_NEED_NGINX").is_some();
                    assert!(!needed, "nginx: {error}");
                    skip(
                        "audits of nginx's logs",
                        "nginx ('apt-get install nginx-light')",
                    );
                    return None;
                }
            };
            let mut nginx = Nginx {
                folder: folder.clone(),
                server,
                ports,
                socket,
            };
            let mut has_ended = false;
            wait_until("nginx is there", || {
                has_ended = nginx.server.try_wait().is_ok_and(|ended| ended.is_some());
                has_ended
                    || ports
                        .iter()
                        .all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
            });
            if !has_ended {
                nginx.clear();
                return Some(nginx);
            }
        }
        panic!("no port is free");
    }

    /// Returns the URL over HTTP/1.1.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    /// Returns the URL at which HTTP/2 is spoken, without TLS.
    pub(crate) fn http2_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[1])
    }

    /// Returns the Unix socket as a host.
    pub(crate) fn socket(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    /// Starts its processes anew, as a reload of its configuration does: connections that are kept alive end.
    pub(crate) fn reload(&self) {
        signal(process_id(&self.server), Signal::HUP);
    }

    /// Ends it, so that all is written that it has to write.
    pub(crate) fn end(&mut self) {
        if self.server.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal(process_id(&self.server), Signal::TERM);
        }
        wait_until("nginx ends", || {
            self.server.try_wait().is_ok_and(|ended| ended.is_some())
        });
    }

    /// Empties its logs.
    fn clear(&self) {
        for log in ["combined.log", "full.log", "json.log"] {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(self.folder.join(log));
            let emptied = file.and_then(|file| file.set_len(0));
            emptied.expect("it has made the file");
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.end();
        let _gone_with_it = fs::remove_file(&self.socket);
    }
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

fn configuration(folder: &Path, [http1, http2]: [u16; 2], socket: &Path) -> String {
    let (folder, socket) = (folder.display(), socket.display());
    let full = FULL.replace('"', "\\\"");
    format!(
        "daemon off;
master_process on;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  log_format full \"{full}\";
  log_format lines escape=json '{{\"time\":\"$msec\",\"method\":\"$request_method\",\"uri\":\"$request_uri\",\"status\":$status,'
    '\"bytes_sent\":$bytes_sent,\"request_time\":$request_time}}';
  access_log {folder}/combined.log combined;
  access_log {folder}/full.log full;
  access_log {folder}/json.log lines;
  root {folder}/www;
  keepalive_requests 40;
  server {{ listen 127.0.0.1:{http1}; listen unix:{socket}; {PAGES} }}
  server {{ listen 127.0.0.1:{http2} http2; {PAGES} }}
}}
"
    )
}
