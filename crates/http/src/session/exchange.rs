//! Sending of one hop of a request over a connection of the session's pool, and reading of its response.

use super::Session;
use super::headers::HopHead;
use super::pool::Channel;
use crate::failure::Failure;
use crate::grpc::{CallConnection, CallProtocol, GrpcCall};
use crate::h1::{Connection, ResponseRules};
use crate::h2::SharedConnection;
use crate::hop::Hop;
use crate::message::{RawResponse, Request};
use crate::progress::RequestProgress;
#[cfg(feature = "reqwest")]
use crate::reqwest;
use crate::target::Target;
use crate::transfer::TransferMeter;
use crate::transport::Version;

/// One hop of a request of a session, to be sent.
#[derive(Clone, Copy)]
pub(super) struct OutgoingHop<'a> {
    pub(super) session: &'a Session,
    pub(super) target: &'a Target,
    pub(super) hop: &'a Hop,
    pub(super) request: &'a Request,
}

impl<'a> OutgoingHop<'a> {
    /// The head of this hop, for one poll.
    pub(super) fn head(self) -> HopHead<'a> {
        HopHead {
            client: &self.session.client,
            user: self.session.headers.borrow(),
            jar: &self.session.jar,
            target: self.target,
            hop: self.hop,
            request: self.request,
        }
    }

    /// Sends one hop and waits for its response. If the server has closed a kept-alive connection and no byte of a
    /// response has come, the hop is sent once more over another one, whatever its method, as browsers and curl do;
    /// likewise if the server has refused the stream, or wants the request over HTTP/1.1.
    pub(super) async fn exchange(
        self,
        progress: &mut RequestProgress<'_>,
    ) -> Result<RawResponse, Failure> {
        let (session, origin) = (self.session, &self.target.origin);
        session.client.config.allowed.check(origin)?;
        // reqwest does not show whether a response has begun.
        let counts_bytes = session.client.config.transport.is_direct();
        let (mut again, mut resent) = (false, false);
        let call = self.request.call();
        loop {
            #[cfg_attr(
                not(feature = "reqwest"),
                expect(unused_mut, reason = "only reqwest reports it with the response")
            )]
            let (mut channel, mut reused) = if self.request.socket().is_some() {
                let opening = session.pool.for_socket(&session.client, origin, progress);
                Box::pin(opening).await?
            } else if let Some(call) = call
                && call.terms.protocol == CallProtocol::Grpc
            {
                let opening = self.channel_of_call(call, progress);
                Box::pin(opening).await?
            } else {
                let channel = session
                    .pool
                    .channel(&session.client, origin, again, progress);
                channel.await?
            };
            let received = progress.meter.so_far().received;
            let response = match &mut channel {
                Channel::Http1(connection) => {
                    progress.connection = connection.number;
                    let mut encoded = session.client.write_buffer.take();
                    let trace = progress.trace.as_deref();
                    encoded.body_at = self.head().write_http1(&mut encoded.bytes, trace);
                    let rules = ResponseRules {
                        method: &self.hop.method,
                        limits: session.limits(self.request),
                        known: &session.client.known_heads,
                    };
                    let metered = MeteredConnection {
                        connection,
                        meter: progress.meter,
                    };
                    let (buffer, stopwatch) =
                        (&session.client.read_buffer, &mut progress.stopwatch);
                    // Not in a function of its own: its future would be copied for each request.
                    let exchange =
                        metered
                            .connection
                            .exchange(&mut encoded, &rules, buffer, stopwatch);
                    exchange.await
                }
                Channel::Http2(connection) => {
                    progress.connection = connection.number;
                    self.exchange_http2(connection, progress).await
                }
                #[cfg(feature = "reqwest")]
                Channel::Reqwest(sender) => {
                    let trace = progress.trace.as_deref();
                    let outgoing = self
                        .head()
                        .reqwest_request(session.limits(self.request), trace);
                    let version = session.client.config.version;
                    let may_be_http2 = origin.secure || version == Version::Http2;
                    let under_way = may_be_http2.then(|| session.pool.under_way());
                    let exchange =
                        reqwest::exchange(&session.client, sender.clone(), outgoing, progress);
                    // Boxed: the futures of the direct transport should not have room for it.
                    let (response, was_open) = Box::pin(exchange).await;
                    if let Some(under_way) = under_way {
                        under_way.ended(response.is_ok().then_some(progress.is_http2));
                    }
                    reused = was_open;
                    response
                }
            };
            if let Channel::Http1(connection) = channel {
                self.put_back(connection, &response);
            }
            match response {
                Err(failure)
                    if !resent
                        && progress.meter.so_far().received == received
                        && (failure.is_unseen()
                            || reused
                                && call.is_none()
                                && failure.is_stale()
                                && (counts_bytes || self.hop.method.is_idempotent()))
                        && !(failure.is_http1_required()
                            && (call.is_some()
                                || session.client.config.version == Version::Http2))
                        && !call.is_some_and(GrpcCall::is_taken) =>
                {
                    if failure.is_http1_required() {
                        session.pool.require_http1(origin);
                    }
                    resent = true;
                    if let Some(call) = call {
                        call.set_reset(None);
                    }
                    progress.meter.count_retry();
                    // A server that refuses a stream has closed nothing else.
                    again = !failure.is_refused_stream();
                }
                response => return response,
            }
        }
    }

    /// The channel of a call of gRPC, and whether its connection was open.
    async fn channel_of_call(
        self,
        call: &GrpcCall,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        let (session, origin) = (self.session, &self.target.origin);
        let client = &session.client;
        match call.terms.connection {
            CallConnection::User => session.pool.http2(client, origin, progress).await,
            CallConnection::Own => session.pool.own_http2(client, origin, progress).await,
            CallConnection::Shared => client.shared.http2(client, origin, progress).await,
        }
    }

    /// Sends one hop over an HTTP/2 connection.
    async fn exchange_http2(
        self,
        connection: &SharedConnection,
        progress: &mut RequestProgress<'_>,
    ) -> Result<RawResponse, Failure> {
        let hop = self.hop;
        let mut encoded = self.session.client.write_buffer.take();
        let block = &mut encoded.bytes;
        self.head().write_http2(block, progress.trace.as_deref())?;
        let limits = self.session.limits(self.request);
        let request =
            connection.start_request(block, &hop.method, hop.body.clone(), limits, progress);
        drop(encoded);
        let Some(socket) = self.request.socket() else {
            return request.response().await;
        };
        // Boxed: few requests open a WebSocket.
        let (response, tunnel) = Box::pin(request.tunnel()).await?;
        if let Some(tunnel) = tunnel {
            socket.connect(tunnel);
        }
        Ok(response)
    }

    /// Puts a connection back if its response allows another request. One that has become a WebSocket's is handed to that.
    fn put_back(self, connection: Connection, response: &Result<RawResponse, Failure>) {
        if let (Some(socket), Ok(response)) = (self.request.socket(), response)
            && response.head.status == 101
        {
            return socket.connect(connection.into_stream());
        }
        let stays_open = response
            .as_ref()
            .is_ok_and(|response| response.head.keep_alive);
        if stays_open && self.session.client.config.keep_alive {
            self.session.pool.put_back(connection);
        }
    }
}

/// A connection during an exchange. Its bytes count even if the exchange is given up.
struct MeteredConnection<'a> {
    connection: &'a mut Connection,
    meter: &'a TransferMeter,
}

impl Drop for MeteredConnection<'_> {
    fn drop(&mut self) {
        self.meter.count_received(self.connection.received());
        self.meter.count_sent(self.connection.sent());
    }
}
