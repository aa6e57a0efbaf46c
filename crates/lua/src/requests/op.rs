//! The operations that a plan's coroutine yields and the engine carries out. The usual request is read straight from
//! the stack of the coroutine; everything else by way of mlua's values, and refused if unknown.

use super::call;
use super::fetch;
use super::grpc::PlannedGrpc;
use super::options::{self, REQUEST};
use super::record;
use super::request::RequestOp;
use super::socket_op::{self, SocketOp};
use super::stream::ResponseStream;
use super::submit;
use super::tags::OwnTags;
use super::timed;
use super::wait_rule::read_wait_rule;
use super::websocket;
use super::yielded::{SeeThrough, values_of};
use crate::limits::{self, Budget, Held, StackValue, YieldedValues};
use crate::values::{
    self, describe_mismatch, escape_invalid, escape_invalid_bytes, list_values, read_seconds,
    shorten,
};
use bytes::Bytes;
use http::Method;
use lgoose_base::tags::Tags;
use lgoose_http::Discard;
use lgoose_plan::Wait;
use lgoose_plan::shared_state::{PendingValue, Queue, SharedQueue};
use lgoose_protocols::{CallOp, PlanExchange, SocketAction};
use mlua::{Function, LightUserData, Value};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// An operation to carry out before the plan goes on.
#[derive(Debug)]
pub enum Op {
    /// Sends one request and returns one response. Boxed, since it is handed on a dozen times.
    Request(Box<RequestOp>),
    /// Sends requests side by side, six at a time per host, and returns a list.
    Fetch(Vec<RequestOp>),
    /// Performs a call of a protocol other than HTTP; returns its value, or its failure.
    Call(Box<CallOp>),
    /// Waits for this long; ends the task where a stop leaves no time for it.
    Wait(Duration),
    /// Takes a value from a queue that users share, waiting at most this long; returns the value.
    Take(Arc<Queue>, Duration),
    /// Waits until another user has made a value that they share.
    Await(PendingValue),
    /// Waits until more of a stream has come, or nothing will; returns whether the time limit passed before. Boxed,
    /// since every operation is as large as the largest.
    Receive(Rc<ResponseStream>, Option<Box<ReceiveTime>>),
    /// Waits until the connection of a WebSocket takes more.
    Flush(Rc<ResponseStream>),
    /// Closes a stream, unless it has ended, and counts its request.
    EndStream(Rc<ResponseStream>),
    /// Uses a socket on which the plan speaks a protocol of its own; returns the received bytes or the failure.
    Socket(Box<SocketOp>),
    /// Begins an exchange that the plan carries out, which is a row of its own; returns its number.
    BeginExchange(Box<CallOp>),
    /// Begins an exchange that is a function of the plan, of which there is one at a time; returns its number.
    BeginTimed(Box<CallOp>),
    /// Ends and counts the exchange of that number.
    EndExchange(u64, Box<ExchangeEnd>),
    /// Counts an exchange that the plan has measured.
    Record(Box<MeasuredExchange>),
    /// Starts a function of the plan beside the running code; returns the number of the job.
    Spawn(Box<JobFunction>),
    /// Waits until the job of that number is over; an error of it is raised.
    Join(u64),
    /// Ends the job of that number before its next operation.
    Cancel(u64),
    /// Waits a moment for rows that are not reserved yet.
    Later,
    /// Waits until all users of the run are at work.
    Ready,
    /// Ends this iteration of the user.
    ExitIteration,
    /// Ends this user.
    Stop,
    /// Ends this user in the middle of its task: it needs a row that it cannot have.
    OutOfRows,
}

/// A function of the plan that is to run as a job.
#[derive(Debug)]
pub struct JobFunction {
    pub(crate) function: Function,
    /// How long it lasts at most.
    pub life: JobLife,
}

/// How long a job lasts at most, the shortest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobLife {
    /// As long as the task that begins it, which waits for its end.
    #[default]
    Task,
    /// As long as the user, until its `on_stop` tasks begin.
    User,
    /// As long as the sockets of the user.
    Sockets,
}

/// An exchange that the plan has measured itself and that has ended now.
#[derive(Debug)]
pub struct MeasuredExchange {
    /// Its kind, name and tags.
    pub op: CallOp,
    /// How long it took.
    pub time: Duration,
    /// The bytes received.
    pub bytes: u64,
    /// The reason why it has failed, if it has.
    pub failure: Option<Box<str>>,
}

/// The time for which the plan waits for a message.
#[derive(Debug, Clone, Copy)]
pub struct ReceiveTime {
    /// `None`: as long as a request may take.
    pub most: Option<Duration>,
    /// The time already waited.
    pub waited: Duration,
    /// The time left until a deadline.
    pub rest: Option<Duration>,
}

impl ReceiveTime {
    /// Returns how long to wait, given how long a request may usually take.
    pub fn left(&self, usual: Duration) -> Duration {
        let left = self.most.unwrap_or(usual).saturating_sub(self.waited);
        self.rest.map_or(left, |rest| left.min(rest))
    }
}

/// The end of an exchange that the plan carries out.
#[derive(Debug, Clone)]
pub enum ExchangeEnd {
    /// With a message that had come then.
    At(Instant),
    /// None has come in time.
    TimedOut,
    /// Its channel has ended.
    Closed,
    /// The plan's function has succeeded.
    Done,
    /// It has not, for that reason, or else for that of the socket that failed meanwhile, if one did.
    Failed(Option<Box<str>>),
}

/// Returns the marker that the yield of an operation begins with: a light userdata, which plans cannot make. It also
/// names the operation; requests of the usual methods have one each.
pub(crate) fn marker(name: &str) -> Option<Value> {
    let place = MARKERS.iter().position(|existing| *existing == name)?;
    Some(marker_at(place))
}

/// Returns the markers of all that a coroutine of the plan's own passes on to the engine.
pub(crate) fn markers() -> impl Iterator<Item = Value> {
    (0..MARKERS.len())
        .map(marker_at)
        .chain([limits::preempted_marker()])
}

fn marker_at(place: usize) -> Value {
    Value::LightUserData(LightUserData(std::ptr::without_provenance_mut(place + 1)))
}

/// The methods that begin `MARKERS`, at the same places.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

const MARKERS: [&str; 37] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "request",
    "fetch",
    "wait",
    "stop",
    "batch",
    "submit",
    "take",
    "await",
    "later",
    "ready",
    "exit_iteration",
    "call",
    "receive",
    "end_stream",
    "websocket",
    "flush",
    "begin_exchange",
    "end_exchange",
    "spawn",
    "join",
    "cancel",
    "begin_timed",
    "end_timed",
    "record",
    "socket_send",
    "socket_receive",
    "start_tls",
    "socket_close",
    "grpc",
    "out_of_rows",
];

impl Op {
    /// Reads a yield; `None` if it is the plan's own and no operation. `draw` returns a pause by
    /// a rule.
    ///
    /// # Errors
    /// The message to raise at the plan's line.
    pub(crate) fn read(
        yielded: YieldedValues<'_>,
        see: &SeeThrough<'_>,
        budget: &mut Budget,
        draw: impl FnOnce(Wait) -> Duration,
    ) -> Option<Result<Op, String>> {
        let StackValue::Marker(number) = yielded.at(0) else {
            return None;
        };
        let place = number.checked_sub(1)?;
        if let Some(method) = METHODS.get(place) {
            let op = read_request(method.clone(), yielded, see, budget);
            return Some(op.map(Op::Request));
        }
        let name = MARKERS.get(place)?;
        if *name == "fetch" {
            return Some(fetch::read(yielded, see, budget).and_then(side_by_side));
        }
        let [a, b, c, d] = match values_of(yielded, see) {
            Ok(values) => values,
            Err(problem) => return Some(Err(problem)),
        };
        let op = match *name {
            "batch" => read_batch(a, budget),
            "wait" => read_wait(&a, &b, draw).map(Op::Wait),
            "stop" => Ok(Op::Stop),
            "out_of_rows" => Ok(Op::OutOfRows),
            "later" => Ok(Op::Later),
            "ready" => Ok(Op::Ready),
            "exit_iteration" => Ok(Op::ExitIteration),
            "take" => read_take(&a, &b),
            "await" => read_making(&a).map(Op::Await),
            "call" => call::read(&a).map(Op::Call),
            "receive" => read_receive(&a, &b, &c, &d),
            "begin_exchange" => read_exchange(&a, &b),
            "end_exchange" => read_exchange_end(&a, &b, &c),
            "begin_timed" => timed::read(&a, &b, budget).map(Op::BeginTimed),
            "end_timed" => Ok(timed::read_end(&a, &b, &c)),
            "record" => record::read(&a, budget).map(Op::Record),
            "socket_send" => socket_op::send(&a, &b, &c, budget).map(Op::Socket),
            "socket_receive" => socket_op::receive(&a, &b, &c).map(Op::Socket),
            "start_tls" => socket_op::start_tls(&a, &b).map(Op::Socket),
            "socket_close" => socket_op::close(&a).map(Op::Socket),
            "grpc" => read_grpc(&a).map(Op::Request),
            "flush" => read_stream(&a).map(Op::Flush),
            "websocket" => boxed(websocket::read(&a, &b, budget)),
            "end_stream" => read_stream(&a).map(Op::EndStream),
            "spawn" => read_job(a, &b).map(Op::Spawn),
            "join" => Ok(Op::Join(job_number(&a))),
            "cancel" => Ok(Op::Cancel(job_number(&a))),
            "submit" => boxed(submit::read(&a, &b, &c, budget)),
            "request" => boxed(read_described(&a, budget)),
            _ => return None,
        };
        Some(op)
    }
}

impl Op {
    /// Returns its requests.
    pub(super) fn requests_mut(&mut self) -> &mut [RequestOp] {
        match self {
            Op::Request(op) => std::slice::from_mut(&mut **op),
            Op::Fetch(ops) => ops,
            _ => &mut [],
        }
    }

    /// Whether it only waits: a job that is to end, ends there.
    pub fn waits(&self) -> bool {
        use Op::{Await, Flush, Join, Later, Ready, Receive, Socket, Take, Wait};
        match self {
            Wait(_) | Take(..) | Await(_) | Receive(..) | Flush(_) | Join(_) | Later | Ready => {
                true
            }
            Socket(op) => matches!(op.action, SocketAction::Receive(_)),
            _ => false,
        }
    }

    /// Adds tags of the user to its requests, whose own win. The requests of a fetch share the tags that they were
    /// given.
    ///
    /// # Errors
    /// The message for a plan that would hold more than it may.
    pub(crate) fn tag(&mut self, user: &mut OwnTags, budget: &mut Budget) -> Result<(), String> {
        let mut latest: Option<(Option<Rc<Tags>>, Rc<Tags>)> = None;
        let (requests, call) = match self {
            Op::Call(op) | Op::BeginExchange(op) | Op::BeginTimed(op) => {
                (&mut [][..], Some(&mut op.tags))
            }
            Op::Record(measured) => (&mut [][..], Some(&mut measured.op.tags)),
            other => (other.requests_mut(), None),
        };
        for tags in requests.iter_mut().map(|op| &mut op.tags).chain(call) {
            let own = tags.take();
            let all = match latest {
                Some((headers, all)) if same(headers.as_ref(), own.as_ref()) => all,
                _ => with_own(&user.all(), own.as_deref(), budget)?,
            };
            *tags = Some(all.clone());
            latest = Some((own, all));
        }
        Ok(())
    }
}

/// Returns whether two requests were given the same tags, or both none.
fn same(one: Option<&Rc<Tags>>, other: Option<&Rc<Tags>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Rc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// Returns tags with those of one request, if it has some.
fn with_own(tags: &Rc<Tags>, own: Option<&Tags>, budget: &mut Budget) -> Result<Rc<Tags>, String> {
    let Some(own) = own else {
        return Ok(tags.clone());
    };
    budget.take(tags.bytes())?;
    Ok(Rc::new(tags.with(own)))
}

fn boxed(read: Result<RequestOp, String>) -> Result<Op, String> {
    read.map(|op| Op::Request(Box::new(op)))
}

/// The longest name of a method, in bytes; registered ones have up to 17 (IANA's registry of HTTP methods).
const LONGEST_METHOD: usize = 100;

/// Reads a method that the plan names, which may be any word.
fn read_method(value: &Value) -> Result<Method, String> {
    match value {
        Value::String(name) => {
            let bytes = name.as_bytes();
            let method = Method::from_bytes(bytes.get(..=LONGEST_METHOD).unwrap_or(&bytes));
            let method = method.ok().filter(|_| bytes.len() <= LONGEST_METHOD);
            method.ok_or_else(|| format!("'{}' is not a method", shorten(&escape_invalid(name))))
        }
        other => Err(describe_mismatch("a method", "a string", other)),
    }
}

/// Reads a request as `user:get(path, options)` and `user:post(path, body, options)` yield it.
fn read_request(
    method: Method,
    yielded: YieldedValues<'_>,
    see: &SeeThrough<'_>,
    budget: &mut Budget,
) -> Result<Box<RequestOp>, String> {
    if let Some(usual) = UsualRequest::read(&yielded) {
        return usual.request(method, budget);
    }
    let [path, body, options, _] = values_of(yielded, see)?;
    let mut op = Box::new(RequestOp::bare(method, &path, &body, budget)?);
    match &options {
        Value::Nil => {}
        Value::Table(options) => options::read(&mut op, options, &[], budget)?,
        other => return Err(describe_mismatch("options", "a table", other)),
    }
    Ok(op)
}

/// The usual request: a path, perhaps a text to send, and of the options only a name, one status and the beginning of a
/// title.
struct UsualRequest<'a> {
    path: &'a [u8],
    body: &'a [u8],
    name: Option<Rc<str>>,
    status: Option<u16>,
    title: Option<String>,
}

impl<'a> UsualRequest<'a> {
    /// Reads a yield, if it holds nothing else and nothing wrong.
    fn read(yielded: &'a YieldedValues<'_>) -> Option<UsualRequest<'a>> {
        let StackValue::Text(path) = yielded.at(1) else {
            return None;
        };
        let body = match yielded.at(2) {
            StackValue::Nil => b"",
            StackValue::Text(text) => text,
            _ => return None,
        };
        let mut usual = UsualRequest {
            path,
            body,
            name: None,
            status: None,
            title: None,
        };
        let complete = match yielded.at(3) {
            StackValue::Nil => true,
            StackValue::Table(options) => options.all(|key, value| usual.option(key, value)),
            _ => false,
        };
        complete.then_some(usual)
    }

    /// Reads an option, and returns whether it is a usual one.
    fn option(&mut self, key: StackValue<'_>, value: StackValue<'_>) -> bool {
        match (key, value) {
            (StackValue::Text(b"name"), StackValue::Text(name)) => {
                self.name = Some(values::name_of(name));
                true
            }
            (StackValue::Text(b"expect"), StackValue::Table(expect)) => {
                expect.all(|key, value| self.expectation(key, value))
            }
            _ => false,
        }
    }

    fn expectation(&mut self, key: StackValue<'_>, value: StackValue<'_>) -> bool {
        match (key, value) {
            (StackValue::Text(b"status"), StackValue::Integer(status @ 100..1000)) => {
                self.status = Some(status as u16);
                true
            }
            (StackValue::Text(b"title"), StackValue::Text(title)) => {
                self.title = Some(escape_invalid_bytes(title));
                true
            }
            _ => false,
        }
    }

    /// Makes the request.
    fn request(self, method: Method, budget: &mut Budget) -> Result<Box<RequestOp>, String> {
        budget.take(self.path.len().saturating_mul(3))?;
        budget.take(self.body.len())?;
        let mut op = Box::new(RequestOp::new(method, values::read_url(self.path)));
        if !self.body.is_empty() {
            op.request.body = Bytes::copy_from_slice(self.body);
        }
        op.name = self.name;
        op.expect.status.extend(self.status);
        if self.title.is_some() {
            op.request.discard = Discard::Nothing;
        }
        op.expect.title = self.title;
        Ok(op)
    }
}

/// Reads a pause: seconds, two of them, or a rule.
fn read_wait(
    from: &Value,
    to: &Value,
    draw: impl FnOnce(Wait) -> Duration,
) -> Result<Duration, String> {
    if !to.is_nil() {
        let (from, to) = (
            read_seconds(from, "user:wait")?,
            read_seconds(to, "user:wait")?,
        );
        return if to >= from {
            Ok(draw(Wait::Uniform(from, to)))
        } else {
            Err("user:wait(from, to): 'to' is smaller than 'from'".to_owned())
        };
    }
    if !from.is_table() {
        return read_seconds(from, "user:wait");
    }
    match read_wait_rule(from) {
        Ok(Wait::Pacing(_) | Wait::Throughput(_)) => Err(
            "user:wait takes the length of a pause: to keep a pace, set the 'wait' of a scenario or task"
                .to_owned(),
        ),
        Ok(rule) => Ok(draw(rule)),
        Err(mistake) => {
            let (expected, got) = mistake.expected();
            let got = got.map_or_else(String::new, |got| format!(", not {got}"));
            Err(format!("the rule of user:wait must be {expected}{got}"))
        }
    }
}

fn read_take(queue: &Value, wait: &Value) -> Result<Op, String> {
    let wait = read_seconds(wait, "queue:take")?;
    let held = queue.as_userdata();
    let held = held.and_then(|held| held.borrow::<Held<SharedQueue>>().ok());
    let queue = held
        .ok_or("queue:take is called with a colon")?
        .queue
        .clone();
    Ok(Op::Take(queue, wait))
}

fn read_grpc(call: &Value) -> Result<Box<RequestOp>, String> {
    let held = call.as_userdata();
    let held = held.and_then(|held| held.borrow::<Held<PlannedGrpc>>().ok());
    let op = held.and_then(|held| held.op.take());
    op.ok_or_else(|| "there is nothing to call".to_owned())
}

fn read_making(making: &Value) -> Result<PendingValue, String> {
    let held = making.as_userdata();
    let held = held.and_then(|held| held.borrow::<Held<PendingValue>>().ok());
    let held = held.ok_or("there is nothing to wait for")?;
    Ok(PendingValue::clone(&held))
}

/// Reads a request that a table describes, as `user:request` takes it.
fn read_described(entry: &Value, budget: &mut Budget) -> Result<RequestOp, String> {
    let Value::Table(entry) = entry else {
        let kind = "a table { method = \"GET\", path = \"/\" }";
        return Err(describe_mismatch("a request", kind, entry));
    };
    let field = |name: &str| entry.raw_get::<Value>(name).unwrap_or(Value::Nil);
    let method = match field("method") {
        Value::Nil => Method::GET,
        name => read_method(&name)?,
    };
    let mut op = RequestOp::bare(method, &field("path"), &field("body"), budget)?;
    options::read(&mut op, entry, &REQUEST, budget)?;
    Ok(op)
}

/// Reads a list of different requests that are sent side by side.
fn read_batch(list: Value, budget: &mut Budget) -> Result<Op, String> {
    let Value::Table(list) = &list else {
        return Err(describe_mismatch("user:batch", "a list of requests", &list));
    };
    let one = |entry: &Value| {
        budget.take(size_of::<RequestOp>())?;
        read_described(entry, budget)
    };
    list_values(list, "the list of user:batch")?
        .iter()
        .map(one)
        .collect::<Result<_, _>>()
        .and_then(side_by_side)
}

/// Makes requests that are sent side by side.
fn side_by_side(ops: Vec<RequestOp>) -> Result<Op, String> {
    if ops.iter().any(|op| op.request.stream().is_some()) {
        return Err(
            "a stream is the response to one request: user:get(path, { stream = true })".to_owned(),
        );
    }
    Ok(Op::Fetch(ops))
}

fn read_stream(stream: &Value) -> Result<Rc<ResponseStream>, String> {
    let held = stream.as_userdata();
    let shared = held.and_then(ResponseStream::of);
    shared.ok_or_else(|| "a stream is read with a colon: stream:events()".to_owned())
}

/// Reads a function to run as a job; the second value says how long it lasts if that is not its task's time.
fn read_job(function: Value, life: &Value) -> Result<Box<JobFunction>, String> {
    let Value::Function(function) = function else {
        return Err(describe_mismatch("user:spawn", "a function", &function));
    };
    let life = match life {
        Value::Boolean(true) => JobLife::Sockets,
        Value::String(_) => JobLife::User,
        _ => JobLife::Task,
    };
    Ok(Box::new(JobFunction { function, life }))
}

fn job_number(number: &Value) -> u64 {
    number.as_i64().unwrap_or_default() as u64
}

/// Reads the beginning of an exchange over a socket.
fn read_exchange(socket: &Value, name: &Value) -> Result<Op, String> {
    let socket = read_stream(socket)?;
    let name = match name {
        Value::Nil => None,
        name => Some(values::read_name(name, "option 'name'")?),
    };
    let exchange = PlanExchange::new(websocket::KIND, socket.url.to_string());
    Ok(Op::BeginExchange(Box::new(CallOp {
        name,
        ..CallOp::new(exchange)
    })))
}

/// Reads its end: the time of the message that responds to it, or whether its time is up.
fn read_exchange_end(socket: &Value, number: &Value, end: &Value) -> Result<Op, String> {
    let socket = read_stream(socket)?;
    let end = match end {
        Value::Boolean(true) => ExchangeEnd::TimedOut,
        Value::Boolean(false) => ExchangeEnd::Closed,
        at => {
            let at = Duration::try_from_secs_f64(at.as_f64().unwrap_or_default());
            ExchangeEnd::At(socket.start + at.unwrap_or_default())
        }
    };
    let number = number.as_i64().unwrap_or_default();
    Ok(Op::EndExchange(number as u64, Box::new(end)))
}

/// Reads a wait for messages: that of a socket has a time, or `false` for the usual one, says how long it has waited, and may
/// say in how many seconds it ends at the latest.
fn read_receive(stream: &Value, most: &Value, waited: &Value, rest: &Value) -> Result<Op, String> {
    let stream = read_stream(stream)?;
    let time = match most {
        Value::Nil => None,
        Value::Boolean(false) => Some(None),
        most => Some(Some(read_seconds(most, "option 'timeout'")?)),
    };
    let seconds = |value: &Value| {
        let seconds = value.as_f64()?;
        Some(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    };
    let (waited, rest) = (seconds(waited).unwrap_or_default(), seconds(rest));
    let time = time.map(|most| Box::new(ReceiveTime { most, waited, rest }));
    Ok(Op::Receive(stream, time))
}
