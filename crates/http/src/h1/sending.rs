//! Sending of a request over HTTP/1.1, and responses that come before the server has all of it. Driven by the exchange
//! of a connection.

use super::connection::Connection;
use super::reader::{ReadOutcome, ResponseRules, read_start};
use crate::failure::Failure;
use crate::message::{MAX_HEAD, body_too_large};
use crate::read_buffer::ReadBuffer;
use crate::stopwatch::Stopwatch;
use bytes::BytesMut;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};

/// The time after which the body is sent although the server has not responded to 'Expect: 100-continue' (as in curl).
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

/// The ways in which the sending of a large request ends.
enum SendEnd {
    Sent,
    /// The server has responded, and takes no more of the body.
    Responded(ReadOutcome),
    /// The server has closed the connection while it responded.
    Closed,
    Broken(std::io::Error),
}

/// Sends bytes as they are.
pub(super) async fn write(connection: &mut Connection, bytes: &[u8]) -> std::io::Result<()> {
    let mut unsent = bytes;
    while !unsent.is_empty() {
        let count = connection.stream.write(unsent).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        connection.sent += count as u64;
        unsent = &unsent[count..];
    }
    connection.stream.flush().await
}

/// Sends a large request, and reads the response meanwhile. If that is its refusal, or the whole of its response, the
/// rest is not sent, and the connection is not used again; returns the response then. A server that responds while it
/// reads gets the rest all the same.
pub(super) async fn send_listening(
    connection: &mut Connection,
    bytes: &[u8],
    rules: &ResponseRules<'_>,
    buffer: &ReadBuffer,
    partial: &mut BytesMut,
    stopwatch: &mut Stopwatch,
) -> Result<(std::io::Result<()>, Option<ReadOutcome>), Failure> {
    let mut sent = 0;
    let mut responds = false;
    let ended = poll_fn(|cx| {
        while sent < bytes.len() {
            match Pin::new(&mut connection.stream).poll_write(cx, &bytes[sent..]) {
                Poll::Ready(Ok(0)) => {
                    let error = std::io::ErrorKind::WriteZero.into();
                    return Poll::Ready(Ok(SendEnd::Broken(error)));
                }
                Poll::Ready(Ok(count)) => {
                    sent += count;
                    connection.sent += count as u64;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Ok(SendEnd::Broken(error))),
                Poll::Pending if responds => {
                    if !ready!(poll_more(connection, cx, rules, buffer, partial))? {
                        return Poll::Ready(Ok(SendEnd::Closed));
                    }
                }
                Poll::Pending => {
                    match ready!(connection.poll_some(cx, rules, buffer, partial, stopwatch))? {
                        ReadOutcome::Continue | ReadOutcome::Partial => {}
                        ReadOutcome::Head(head) if head.status < 300 && head.keep_alive => {
                            responds = true;
                        }
                        read => return Poll::Ready(Ok(SendEnd::Responded(read.closing()))),
                    }
                }
            }
        }
        Poll::Ready(Ok::<_, Failure>(SendEnd::Sent))
    });
    let (written, closes) = match ended.await? {
        SendEnd::Responded(read) => return Ok((Ok(()), Some(read))),
        SendEnd::Sent => (connection.stream.flush().await, false),
        SendEnd::Closed => (Ok(()), true),
        SendEnd::Broken(error) => (Err(error), true),
    };
    if !responds {
        return Ok((written, None));
    }
    let prefix = partial.split();
    let read = read_start(&prefix, rules, &mut connection.interim, partial)?;
    if closes {
        Ok((written, Some(read.closing())))
    } else {
        Ok((written, Some(read)))
    }
}

/// Reads more of a response whose head has come, as it is; returns false once the server has closed.
fn poll_more(
    connection: &mut Connection,
    cx: &mut Context<'_>,
    rules: &ResponseRules<'_>,
    buffer: &ReadBuffer,
    partial: &mut BytesMut,
) -> Poll<Result<bool, Failure>> {
    let mut buffer = buffer.borrow();
    let mut filled = ReadBuf::new(&mut buffer[..]);
    match ready!(Pin::new(&mut connection.stream).poll_read(cx, &mut filled)) {
        Ok(()) => {}
        Err(error) => return Poll::Ready(Err(Failure::from_io_error(&error))),
    }
    let new = filled.filled();
    connection.received += new.len() as u64;
    partial.extend_from_slice(new);
    let most = rules.limits.max_body.saturating_add(MAX_HEAD as u64);
    Poll::Ready(if partial.len() as u64 > most {
        Err(body_too_large(rules.limits.max_body))
    } else {
        Ok(!new.is_empty())
    })
}

/// Sends the head, and then the body if the server requests it or does not respond in time. Returns the final response
/// if that came instead (RFC 9110, section 10.1.1).
pub(super) async fn send_expecting(
    connection: &mut Connection,
    head: &[u8],
    body: &[u8],
    rules: &ResponseRules<'_>,
    buffer: &ReadBuffer,
    partial: &mut BytesMut,
    stopwatch: &mut Stopwatch,
) -> Result<(std::io::Result<()>, Option<ReadOutcome>), Failure> {
    if let Err(error) = write(connection, head).await {
        return Ok((Err(error), None));
    }
    stopwatch.enter(|phases| &mut phases.first_byte);
    let response = connection.read_head(rules, buffer, partial, stopwatch);
    match tokio::time::timeout(CONTINUE_TIMEOUT, response).await {
        Ok(Ok(ReadOutcome::Continue)) | Err(_) => Ok((write(connection, body).await, None)),
        Ok(Ok(response)) => Ok((Ok(()), Some(response.closing()))),
        Ok(Err(failure)) => Err(failure),
    }
}
