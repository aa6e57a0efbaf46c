//! Connections to Unix sockets.

use crate::failure::{ErrorClass, Failure};
use crate::target::UnixSocket;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt as _;
use std::time::Duration;
use tokio::net::UnixStream;

/// The first and the longest pause before a socket is tried again that has too many connections waiting.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Connects to a socket. While more connections wait there than the server wants, it waits as the kernel does for TCP.
pub(super) async fn connect(socket: &UnixSocket) -> Result<UnixStream, Failure> {
    let [mut pause, longest] = PAUSES;
    loop {
        match UnixStream::connect(socket.path()).await {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                tokio::time::sleep(pause).await;
                pause = longest.min(2 * pause);
            }
            opened => return opened.map_err(|error| failure(&error, socket)),
        }
    }
}

fn failure(error: &io::Error, socket: &UnixSocket) -> Failure {
    let why = match error.kind() {
        ErrorKind::NotFound => "there is no such socket",
        ErrorKind::PermissionDenied => "permission denied",
        // Linux also refuses connections to files that are not sockets.
        ErrorKind::ConnectionRefused if is_other_file(socket) => "this is no socket",
        _ => return Failure::from_connect_error(error, &socket.shown),
    };
    let detail = format!("{}: {why}", socket.shown);
    Failure::new(ErrorClass::Connect, detail)
}

fn is_other_file(socket: &UnixSocket) -> bool {
    let found = std::fs::metadata(socket.path());
    found.is_ok_and(|found| !found.file_type().is_socket())
}
