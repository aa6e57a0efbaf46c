//! The orders of the shop by gRPC, over HTTP/2 without TLS. It is served by the crates h2 and prost-reflect, which know nothing
//! of lgoose's own HTTP/2 and messages. Driven by the server.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, Value};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use tokio::net::TcpStream;

const FILE: &str = "shop.proto";
const SHOP: &str = include_str!("shop.proto");
/// The beginning of the path of all calls.
pub(super) const PREFIX: &str = "/shop.v1.Orders/";
const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
/// The longest message that is taken.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Orders with greater numbers do not exist.
const LAST_ORDER: i64 = 1_000_000;

const NOT_FOUND: u8 = 5;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNIMPLEMENTED: u8 = 12;
const INTERNAL: u8 = 13;
const UNAVAILABLE: u8 = 14;

/// The part of a site in each call before the response: it counts, delays and fails calls.
pub(super) trait CallGate: Send + Sync {
    /// Counts a call of that path; returns how long it is held up.
    fn enter(&self, path: &str) -> Option<Duration>;
    /// Returns whether the call fails.
    fn fails(&self) -> bool;
}

/// The status and message of a call that fails.
type Refusal = (u8, &'static str);

/// Returns whether a connection begins with the preface of HTTP/2.
pub(super) async fn is_http2(tcp: &TcpStream) -> bool {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    let mut start = [0; PREFACE.len()];
    loop {
        match tcp.peek(&mut start).await {
            Ok(count @ 1..) if count < PREFACE.len() && start[..count] == PREFACE[..count] => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(count) => return start[..count] == *PREFACE,
            Err(_) => return false,
        }
    }
}

/// Serves the calls of one connection until either side closes it. How it ends does not matter.
pub(super) async fn serve(tcp: TcpStream, gate: Arc<impl CallGate + 'static>) {
    let Ok(mut connection) = h2::server::handshake(tcp).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(respond_to(request, respond, gate.clone()));
    }
}

/// The descriptions of the service and all that it imports.
struct Shop {
    pool: DescriptorPool,
}

/// The shop's own file, where the compiler looks for it.
struct OwnFile;

impl FileResolver for OwnFile {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            FILE => File::from_source(FILE, SHOP),
            other => Err(protox::Error::file_not_found(other)),
        }
    }
}

impl Shop {
    fn get() -> Option<&'static Shop> {
        static SHOP: OnceLock<Option<Shop>> = OnceLock::new();
        SHOP.get_or_init(Shop::compile).as_ref()
    }

    fn compile() -> Option<Shop> {
        let mut resolver = ChainFileResolver::new();
        resolver.add(OwnFile);
        resolver.add(GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(resolver);
        compiler.open_file(FILE).ok()?;
        let pool = compiler.descriptor_pool();
        Some(Shop { pool })
    }

    fn method(&self, path: &str) -> Option<MethodDescriptor> {
        let (service, name) = path.strip_prefix('/')?.split_once('/')?;
        let service = self.pool.get_service_by_name(service)?;
        service.methods().find(|method| method.name() == name)
    }
}

/// The messages of a request, one after another.
struct Messages {
    body: RecvStream,
    unread: BytesMut,
}

impl Messages {
    async fn next(&mut self, kind: &MessageDescriptor) -> Result<Option<DynamicMessage>, Refusal> {
        let Some(bytes) = self.next_bytes().await? else {
            return Ok(None);
        };
        let message = DynamicMessage::decode(kind.clone(), bytes);
        message
            .map(Some)
            .map_err(|_| (INTERNAL, "this is no such message"))
    }

    async fn next_bytes(&mut self) -> Result<Option<Bytes>, Refusal> {
        const HEAD: usize = 5;
        loop {
            if let Some((&[flags, l3, l2, l1, l0], _)) = self.unread.split_first_chunk::<HEAD>() {
                let length = u32::from_be_bytes([l3, l2, l1, l0]) as usize;
                if flags != 0 {
                    return Err((UNIMPLEMENTED, "messages are not compressed here"));
                }
                if length > MAX_MESSAGE_BYTES {
                    return Err((RESOURCE_EXHAUSTED, "the message is too long"));
                }
                if self.unread.len() >= HEAD + length {
                    let _head = self.unread.split_to(HEAD);
                    return Ok(Some(self.unread.split_to(length).freeze()));
                }
            }
            match self.body.data().await {
                Some(Ok(piece)) => {
                    let _released = self.body.flow_control().release_capacity(piece.len());
                    self.unread.extend_from_slice(&piece);
                }
                Some(Err(_)) => return Err((UNAVAILABLE, "the request has ended")),
                None => return Ok(None),
            }
        }
    }
}

async fn respond_to(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    gate: Arc<impl CallGate>,
) {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if path != REFLECTION
        && let Some(delay) = gate.enter(path)
    {
        tokio::time::sleep(delay).await;
    }
    let mut response = Response::new(());
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("content-type", kind);
    let Ok(mut stream) = respond.send_response(response, false) else {
        return;
    };
    let mut messages = Messages {
        body,
        unread: BytesMut::new(),
    };
    let ended = match path {
        REFLECTION => describe(&mut messages, &mut stream).await,
        _ if gate.fails() => Err((UNAVAILABLE, "the shop is closed for a moment")),
        path => perform(path, &mut messages, &mut stream).await,
    };
    let (code, text) = ended.err().unwrap_or_default();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(u16::from(code)));
    if !text.is_empty() {
        trailers.insert("grpc-message", HeaderValue::from_static(text));
    }
    let _sent = stream.send_trailers(trailers);
}

fn send(stream: &mut SendStream<Bytes>, message: &[u8]) -> Result<(), Refusal> {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.extend_from_slice(message);
    let sent = stream.send_data(framed.freeze(), false);
    sent.map_err(|_| (UNAVAILABLE, "the client is gone"))
}

async fn perform(
    path: &str,
    messages: &mut Messages,
    stream: &mut SendStream<Bytes>,
) -> Result<(), Refusal> {
    let shop = Shop::get().ok_or((INTERNAL, "the shop has no schema"))?;
    let method = shop
        .method(path)
        .ok_or((UNIMPLEMENTED, "there is no such method"))?;
    let (input, output) = (method.input(), method.output());
    match method.name() {
        "Create" => {
            let order = one(messages, &input).await?;
            let items = field(&order, "items");
            let items = items.as_list().unwrap_or_default().to_vec();
            let quantity = items.iter().map(quantity_of).sum();
            let customer = field(&order, "customer").as_i64().unwrap_or_default();
            let id = customer.rem_euclid(LAST_ORDER);
            let made = order_of(&output, id, customer, items, quantity);
            send(stream, &made.encode_to_vec())
        }
        "Get" => {
            let id = id_of(&one(messages, &input).await?)?;
            let order = order_of(&output, id, id, Vec::new(), 0);
            send(stream, &order.encode_to_vec())
        }
        "Watch" => {
            let _order = id_of(&one(messages, &input).await?)?;
            for state in 1..=3 {
                let mut event = DynamicMessage::new(output.clone());
                event.set_field_by_name("state", Value::EnumNumber(state));
                send(stream, &event.encode_to_vec())?;
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        "Add" => {
            let mut lines = 0;
            while messages.next(&input).await?.is_some() {
                lines += 1;
            }
            send(
                stream,
                &order_of(&output, 1, 1, Vec::new(), lines).encode_to_vec(),
            )
        }
        _ => {
            while let Some(line) = messages.next(&input).await? {
                let line = field(&line, "text");
                let mut reply = DynamicMessage::new(output.clone());
                let text = format!("re: {}", line.as_str().unwrap_or_default());
                reply.set_field_by_name("text", Value::String(text));
                send(stream, &reply.encode_to_vec())?;
            }
            Ok(())
        }
    }
}

async fn one(messages: &mut Messages, kind: &MessageDescriptor) -> Result<DynamicMessage, Refusal> {
    let message = messages.next(kind).await?;
    message.ok_or((INTERNAL, "there is no request"))
}

fn field(message: &DynamicMessage, name: &str) -> Value {
    let field = message.get_field_by_name(name);
    field.map_or(Value::Bool(false), |field| field.into_owned())
}

fn quantity_of(item: &Value) -> i32 {
    let item = item.as_message();
    let quantity = item.map(|item| field(item, "quantity"));
    quantity
        .and_then(|quantity| quantity.as_i32())
        .unwrap_or_default()
}

fn id_of(order: &DynamicMessage) -> Result<i64, Refusal> {
    match field(order, "id").as_i64() {
        Some(id @ 0..LAST_ORDER) => Ok(id),
        _ => Err((NOT_FOUND, "there is no such order")),
    }
}

fn order_of(
    kind: &MessageDescriptor,
    id: i64,
    customer: i64,
    items: Vec<Value>,
    quantity: i32,
) -> DynamicMessage {
    let mut order = DynamicMessage::new(kind.clone());
    order.set_field_by_name("id", Value::I64(id));
    order.set_field_by_name("customer", Value::I64(customer));
    order.set_field_by_name("items", Value::List(items));
    order.set_field_by_name("quantity", Value::I32(quantity));
    order.set_field_by_name("state", Value::EnumNumber(1));
    if let Some(at) = kind.get_field_by_name("created")
        && let Some(kind) = at.kind().as_message()
    {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut created = DynamicMessage::new(kind.clone());
        created.set_field_by_name("seconds", Value::I64(now.as_secs() as i64));
        order.set_field_by_name("created", Value::Message(created));
    }
    order
}

/// Describes the service by gRPC's own reflection service, whose messages are few: they are written by hand.
async fn describe(messages: &mut Messages, stream: &mut SendStream<Bytes>) -> Result<(), Refusal> {
    const LIST_SERVICES: u8 = 0x3a;
    let shop = Shop::get().ok_or((INTERNAL, "the shop has no schema"))?;
    while let Some(question) = messages.next_bytes().await? {
        let mut inner = Vec::new();
        let mut response = Vec::new();
        if question.first() == Some(&LIST_SERVICES) {
            let mut service = Vec::new();
            put(&mut service, 1, PREFIX.trim_matches('/').as_bytes());
            put(&mut inner, 1, &service);
            put(&mut response, 6, &inner);
        } else {
            for file in shop.pool.files() {
                put(&mut inner, 1, &file.encode_to_vec());
            }
            put(&mut response, 4, &inner);
        }
        send(stream, &response)?;
    }
    Ok(())
}

/// Appends a field with bytes.
fn put(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
}
