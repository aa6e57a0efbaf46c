//! Sending of a request over HTTP/1.1, and what the server answers before it has all of it. Driven by the exchange of a
//! connection.

use super::connection::{Connection, ReadBuffer};
use super::reader::{ReadOutcome, ResponseRules, read_start};
use crate::http::failure::{ErrorClass, Failure};
use crate::http::message::{MAX_HEAD, body_too_large};
use crate::http::stopwatch::Stopwatch;
use bytes::BytesMut;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};

/// The time after which the body is sent although the server has not answered 'Expect: 100-continue' (as in curl).
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

impl Connection {
    pub(super) async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Sends a large request, and reads what the server answers meanwhile. If that is its refusal, or the whole of its
    /// response, the rest is not sent, and the connection is not used again; returns the response then. A server that
    /// answers while it reads gets the rest all the same.
    pub(super) async fn send_listening(
        &mut self,
        bytes: &[u8],
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        partial: &mut BytesMut,
        stopwatch: &mut Stopwatch,
    ) -> Result<(std::io::Result<()>, Option<ReadOutcome>), Failure> {
        let mut sent = 0;
        let mut answers = false;
        let early = poll_fn(|cx| {
            while sent < bytes.len() {
                match Pin::new(&mut self.stream).poll_write(cx, &bytes[sent..]) {
                    Poll::Ready(Ok(0)) => {
                        return Poll::Ready(Ok(Err(std::io::ErrorKind::WriteZero.into())));
                    }
                    Poll::Ready(Ok(count)) => sent += count,
                    Poll::Ready(Err(error)) => return Poll::Ready(Ok(Err(error))),
                    Poll::Pending if answers => {
                        ready!(self.poll_more(cx, rules, buffer, partial))?;
                    }
                    Poll::Pending => {
                        match ready!(self.poll_some(cx, rules, buffer, partial, stopwatch))? {
                            ReadOutcome::Continue | ReadOutcome::Partial => {}
                            ReadOutcome::Head(head) if head.status < 300 && head.keep_alive => {
                                answers = true;
                            }
                            read => return Poll::Ready(Ok(Ok(Some(read.closing())))),
                        }
                    }
                }
            }
            Poll::Ready(Ok::<_, Failure>(Ok(None)))
        });
        let early = match early.await? {
            Ok(early) => early,
            Err(error) => return Ok((Err(error), None)),
        };
        if early.is_some() {
            return Ok((Ok(()), early));
        }
        let written = self.stream.flush().await;
        let begun = match answers {
            true => {
                let begun = partial.split();
                Some(read_start(&begun, rules, &mut self.interim, partial)?)
            }
            false => None,
        };
        Ok((written, begun))
    }

    /// Reads more of a response whose head has come, as it is.
    fn poll_more(
        &mut self,
        cx: &mut Context<'_>,
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        partial: &mut BytesMut,
    ) -> Poll<Result<(), Failure>> {
        let mut buffer = buffer.borrow();
        let mut filled = ReadBuf::new(&mut buffer[..]);
        match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut filled)) {
            Ok(()) => {}
            Err(error) => return Poll::Ready(Err(Failure::from_io_error(&error))),
        }
        let new = filled.filled();
        if new.is_empty() {
            return Poll::Ready(Err(Failure::new(ErrorClass::ClosedEarly, "")));
        }
        self.received += new.len() as u64;
        partial.extend_from_slice(new);
        let most = rules.limits.max_body.saturating_add(MAX_HEAD as u64);
        Poll::Ready(match partial.len() as u64 > most {
            true => Err(body_too_large(rules.limits.max_body)),
            false => Ok(()),
        })
    }

    /// Sends the head, and then the body if the server wants it or does not answer in time. Returns the final
    /// response if that came instead (RFC 9110, section 10.1.1).
    pub(super) async fn send_expecting(
        &mut self,
        head: &[u8],
        body: &[u8],
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        partial: &mut BytesMut,
        stopwatch: &mut Stopwatch,
    ) -> Result<(std::io::Result<()>, Option<ReadOutcome>), Failure> {
        if let Err(error) = self.write(head).await {
            return Ok((Err(error), None));
        }
        stopwatch.enter(|phases| &mut phases.first_byte);
        let response = self.read_head(rules, buffer, partial, stopwatch);
        match tokio::time::timeout(CONTINUE_TIMEOUT, response).await {
            Ok(Ok(ReadOutcome::Continue)) | Err(_) => Ok((self.write(body).await, None)),
            Ok(Ok(response)) => Ok((Ok(()), Some(response.closing()))),
            Ok(Err(failure)) => Err(failure),
        }
    }
}
