//! Tests with frames made by hand.

use super::*;
use crate::grpc::CallTerms;
use crate::h2::frame::{
    ACK, CONTINUATION, END_HEADERS, FrameHead, HEAD, HEADERS, PADDED, PRIORITY, PUSH_PROMISE,
};
use crate::message::StreamedBody;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::rc::Rc;

const LIMITS: BodyLimits = BodyLimits {
    stream: None,
    follows: false,
    max_body: 1 << 30,
    retain_body: true,
    retain_failed: true,
    room: None,
};
/// ':status: 200'.
const OK: &[u8] = &[0x88];

/// A connection whose server has sent nothing.
fn unanswered() -> Engine {
    let mut engine = Engine::new();
    engine.out.clear();
    engine
}

/// A connection whose server has sent its settings, with nothing left to write.
fn connected() -> Engine {
    let mut engine = unanswered();
    feed(&mut engine, SETTINGS, 0, 0, &[]);
    engine.out.clear();
    engine
}

fn feed(engine: &mut Engine, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, kind, flags, stream, payload);
    engine.read(&bytes);
}

fn setting(engine: &mut Engine, name: u16, value: u32) {
    let payload = [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    feed(engine, SETTINGS, 0, 0, &payload);
}

fn get(engine: &mut Engine) -> u64 {
    engine.start_request(&[0x82], Bytes::new(), false, LIMITS)
}

fn post(engine: &mut Engine, size: usize) -> u64 {
    engine.start_request(&[0x83], vec![b'x'; size].into(), false, LIMITS)
}

/// The frames written since the last call: kind, flags, stream, length.
fn written(engine: &mut Engine) -> Vec<(u8, u8, u32, usize)> {
    engine.send_bodies();
    let out = std::mem::take(&mut engine.out);
    let (mut rest, mut frames) = (&out[..], Vec::new());
    while let Some(head) = FrameHead::read(rest) {
        frames.push((head.kind, head.flags, head.stream, head.length));
        rest = &rest[HEAD + head.length..];
    }
    frames
}

fn outcome(engine: &mut Engine, key: u64) -> Option<Result<(), Failure>> {
    engine.stream(key).and_then(|stream| stream.outcome.clone())
}

fn failure(engine: &mut Engine, key: u64) -> String {
    match outcome(engine, key) {
        Some(Err(failure)) => failure.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_flood_of_frames_that_bring_no_response_further_ends_the_connection() {
    type Fed<'a> = (u8, u8, u32, &'a [u8]);
    let floods: [Fed<'_>; 8] = [
        (DATA, 0, 1, b""),
        (DATA, 0, 3, b"for nobody"),
        (HEADERS, END_HEADERS, 3, OK),
        (PING, 0, 0, &[0; 8]),
        (SETTINGS, 0, 0, &[]),
        (WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        (PRIORITY, 0, 1, &[0; 5]),
        (0xee, 0, 0, b"unknown"),
    ];
    for (kind, flags, stream, payload) in floods {
        let mut engine = connected();
        let key = get(&mut engine);
        let given_up = get(&mut engine);
        engine.take(given_up);
        feed(&mut engine, HEADERS, END_HEADERS, 1, OK);
        for _ in 0..MOST_IDLE_FRAMES {
            feed(&mut engine, kind, flags, stream, payload);
            engine.out.clear();
        }
        assert!(!engine.has_ended(), "{kind}");
        // Frames that bring the response further allow as many again.
        feed(&mut engine, DATA, 0, 1, b"x");
        for _ in 0..MOST_IDLE_FRAMES {
            feed(&mut engine, kind, flags, stream, payload);
            engine.out.clear();
        }
        assert!(!engine.has_ended(), "{kind}");
        feed(&mut engine, kind, flags, stream, payload);
        assert!(engine.has_ended(), "{kind}");
        assert!(engine.out.ends_with(&[0, 0, 0, 11]), "ENHANCE_YOUR_CALM");
        let message = failure(&mut engine, key);
        assert!(message.contains("10,000 frames in a row"), "{message}");
    }
}

#[test]
fn frames_that_open_windows_for_a_body_are_no_flood() {
    let mut engine = connected();
    let key = post(&mut engine, 200_000);
    engine.send_bodies();
    while !engine.stream(key).expect("it is under way").sent {
        for stream in [0, 1] {
            feed(&mut engine, WINDOW_UPDATE, 0, stream, &[0, 0, 0, 5]);
        }
        engine.send_bodies();
        engine.out.clear();
    }
    assert!(!engine.has_ended());
    for _ in 0..20_000 {
        let key = get(&mut engine);
        let id = engine.next_id - 2;
        feed(&mut engine, HEADERS, END_HEADERS | END_STREAM, id, OK);
        assert!(matches!(outcome(&mut engine, key), Some(Ok(()))));
        engine.take(key);
        engine.out.clear();
    }
    assert!(!engine.has_ended());
}

#[test]
fn a_response_comes_in_any_pieces() {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, SETTINGS, 0, 0, &[]);
    frame::write(&mut bytes, HEADERS, 0, 1, &[]);
    frame::write(&mut bytes, CONTINUATION, END_HEADERS, 1, OK);
    frame::write(&mut bytes, DATA, PADDED, 1, &[1, b'g', b'o', 0]);
    frame::write(&mut bytes, 0xee, 0xff, 1, b"unknown");
    frame::write(&mut bytes, PRIORITY, 0, 1, &[0; 5]);
    frame::write(&mut bytes, DATA, END_STREAM, 1, b"od");
    for size in 1..=bytes.len() {
        let mut engine = Engine::new();
        let key = get(&mut engine);
        bytes.chunks(size).for_each(|piece| engine.read(piece));
        let stream = engine.take(key).expect("it was begun");
        assert_eq!(stream.outcome, Some(Ok(())), "{size}");
        assert_eq!(stream.bytes, b"HTTP/1.1 200 \r\n\r\ngood");
        // Frames of HEADERS, CONTINUATION and twice DATA, each with its head of nine bytes, padding included.
        assert_eq!(stream.bytes_received, 9 + 10 + 13 + 11, "{size}");
        assert!(engine.is_idle() && !engine.is_closing());
    }
}

#[test]
fn the_bytes_of_a_stream_are_those_of_its_frames_however_its_fields_are_packed() {
    let mut engine = connected();
    let (first, second) = (get(&mut engine), get(&mut engine));
    // 'x: y' as a literal that goes into the table, then by its place there.
    let literal = [0x88, 0x40, 1, b'x', 1, b'y'];
    feed(&mut engine, HEADERS, END_HEADERS, 1, &literal);
    let interim = [0x08, 3, b'1', b'0', b'3'];
    feed(&mut engine, HEADERS, END_HEADERS, 3, &interim);
    feed(&mut engine, HEADERS, END_HEADERS, 3, &[0x88, 0xbe]);
    for id in [1, 3] {
        feed(&mut engine, DATA, 0, id, b"good");
        feed(&mut engine, DATA, END_STREAM, id, &[]);
    }
    let mut taken = |key| engine.take(key).expect("it was begun");
    let (first, second) = (taken(first), taken(second));
    let text = b"HTTP/1.1 200 \r\nx: y\r\n\r\ngood";
    assert_eq!((&*first.bytes, &*second.bytes), (&text[..], &text[..]));
    let data = (9 + 4) + 9;
    assert_eq!(first.bytes_received, (9 + 6) + data);
    assert_eq!(second.bytes_received, (9 + 5) + (9 + 2) + data);
}

#[test]
fn bodies_are_sent_as_the_windows_allow() {
    let mut engine = connected();
    setting(&mut engine, frame::INITIAL_WINDOW_SIZE, 20_000);
    written(&mut engine);
    let (first, second) = (post(&mut engine, 30_000), post(&mut engine, 60_000));
    let sent = |frames: Vec<(u8, u8, u32, usize)>| {
        let data = frames.into_iter().filter(|(kind, ..)| *kind == DATA);
        data.map(|(_, flags, stream, length)| (stream, length, flags))
            .collect::<Vec<_>>()
    };
    let full = [(1, 16_384, 0), (1, 3_616, 0), (3, 16_384, 0), (3, 3_616, 0)];
    assert_eq!(sent(written(&mut engine)), full);
    feed(&mut engine, WINDOW_UPDATE, 0, 1, &10_000_u32.to_be_bytes());
    assert_eq!(sent(written(&mut engine)), [(1, 10_000, END_STREAM)]);
    // The windows of the streams grow by as much as the first window; that of the connection does not.
    setting(&mut engine, frame::INITIAL_WINDOW_SIZE, 60_000);
    assert_eq!(sent(written(&mut engine)), [(3, 15_535, 0)]);
    feed(&mut engine, WINDOW_UPDATE, 0, 0, &100_000_u32.to_be_bytes());
    assert_eq!(
        sent(written(&mut engine)),
        [(3, 16_384, 0), (3, 8_081, END_STREAM)]
    );
    // The server responds before it has read the body; the rest of the body is not sent.
    let third = post(&mut engine, 90_000);
    written(&mut engine);
    feed(&mut engine, HEADERS, END_HEADERS | END_STREAM, 5, OK);
    assert_eq!(outcome(&mut engine, third), Some(Ok(())));
    let mut sent = |key| engine.take(key).expect("it was begun").bytes_sent;
    // A head of one byte, and the body in three frames, in five, and in those sent before the response.
    let frames = |heads: u64, body: u64| (9 + 1) + heads * 9 + body;
    assert_eq!(sent(first), frames(3, 30_000));
    assert_eq!(sent(second), frames(5, 60_000));
    assert!(sent(third) < frames(9, 90_000));
    let resets = [
        (RST_STREAM, 0, 1, 4),
        (RST_STREAM, 0, 3, 4),
        (RST_STREAM, 0, 5, 4),
    ];
    assert_eq!(written(&mut engine), resets);
}

#[test]
fn what_was_read_is_credited_back_to_the_server() {
    let mut engine = connected();
    let key = get(&mut engine);
    feed(&mut engine, HEADERS, END_HEADERS, 1, OK);
    written(&mut engine);
    let piece = vec![0; MAX_FRAME];
    let mut updates = Vec::new();
    for _ in 0..(CONNECTION_WINDOW as usize / MAX_FRAME) {
        feed(&mut engine, DATA, 0, 1, &piece);
        updates.extend(
            written(&mut engine)
                .into_iter()
                .map(|(kind, _, stream, _)| (kind, stream)),
        );
    }
    assert_eq!(
        updates,
        [1, 1, 0, 1, 1, 1, 0].map(|stream| (WINDOW_UPDATE, stream))
    );
    assert_eq!(outcome(&mut engine, key), None);
}

#[test]
fn a_server_that_sends_more_than_it_may_is_disconnected() {
    let mut engine = connected();
    let key = get(&mut engine);
    feed(&mut engine, HEADERS, END_HEADERS, 1, OK);
    engine.stream(key).expect("it was begun").receive_window = 10;
    feed(&mut engine, DATA, 0, 1, &[0; 11]);
    assert_eq!(
        failure(&mut engine, key),
        "protocol: http/2: flow-control protocol violated"
    );
    assert!(!engine.is_closing(), "only the stream");
    engine.receive_window = 10;
    feed(&mut engine, DATA, 0, 1, &[0; 11]);
    assert!(engine.is_over());
}

#[test]
fn requests_wait_for_a_stream_in_their_order() {
    let mut engine = connected();
    setting(&mut engine, frame::MAX_CONCURRENT_STREAMS, 1);
    let keys = [get(&mut engine), get(&mut engine), get(&mut engine)];
    assert_eq!(heads(&mut engine), [1]);
    feed(&mut engine, HEADERS, END_HEADERS | END_STREAM, 1, OK);
    assert_eq!(heads(&mut engine), [3]);
    engine.take(keys[1]);
    assert_eq!(heads(&mut engine), [5], "one that was given up makes room");
    engine.take(keys[2]);
    setting(&mut engine, frame::MAX_CONCURRENT_STREAMS, 0);
    let none = get(&mut engine);
    assert!(heads(&mut engine).is_empty());
    assert!(!engine.is_closing());
    engine.take(none);
    assert!(written(&mut engine).is_empty(), "it was never sent");
    assert!(engine.is_closing(), "the next has another connection");
}

/// Begins a call of gRPC with one request.
fn call(engine: &mut Engine) -> u64 {
    let terms = CallTerms {
        is_unary: true,
        ..CallTerms::default()
    };
    let limits = BodyLimits {
        stream: Some(Rc::new(StreamedBody::of_call(1000, terms))),
        ..LIMITS
    };
    engine.start_request(&[0x83], Bytes::from_static(b"x"), false, limits)
}

/// The streams whose heads were written since the last call.
fn heads(engine: &mut Engine) -> Vec<u32> {
    let frames = written(engine).into_iter();
    let heads = frames.filter(|(kind, ..)| *kind == HEADERS);
    heads.map(|(_, _, stream, _)| stream).collect()
}

#[test]
fn calls_wait_for_the_settings_of_the_server_and_requests_do_not() {
    let mut engine = unanswered();
    let keys = [(); 3].map(|()| call(&mut engine));
    assert_eq!(heads(&mut engine), [1], "the first loses no round trip");
    engine.take(keys[0]);
    assert_eq!(heads(&mut engine), [3], "one that was given up makes room");
    let limit = [
        &frame::MAX_CONCURRENT_STREAMS.to_be_bytes()[..],
        &[0, 0, 0, 2],
    ]
    .concat();
    feed(&mut engine, SETTINGS, 0, 0, &limit);
    assert_eq!(heads(&mut engine), [5]);
    call(&mut engine);
    assert!(heads(&mut engine).is_empty());
    let mut engine = unanswered();
    let keys = [(); 3].map(|()| call(&mut engine));
    feed(&mut engine, SETTINGS, 0, 0, &[]);
    assert_eq!(heads(&mut engine).len(), keys.len(), "there is no limit");
    let mut engine = unanswered();
    for _ in 0..MOST_FIRST_STREAMS + 9 {
        get(&mut engine);
    }
    assert_eq!(heads(&mut engine).len(), MOST_FIRST_STREAMS);
    feed(&mut engine, SETTINGS, 0, 0, &[]);
    assert_eq!(heads(&mut engine).len(), 9);
}

#[test]
fn a_stream_makes_room_once_both_sides_have_ended_it() {
    let mut engine = connected();
    setting(&mut engine, frame::MAX_CONCURRENT_STREAMS, 1);
    let key = post(&mut engine, 100_000);
    get(&mut engine);
    assert_eq!(heads(&mut engine), [1]);
    feed(&mut engine, HEADERS, END_HEADERS | END_STREAM, 1, OK);
    assert!(heads(&mut engine).is_empty(), "its body is not sent");
    engine.take(key);
    let frames = written(&mut engine);
    let kinds: Vec<_> = frames.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [RST_STREAM, HEADERS]);
}

#[test]
fn a_server_that_leaves_ends_what_it_will_not_look_at() {
    let mut engine = connected();
    let (seen, unseen) = (get(&mut engine), get(&mut engine));
    feed(&mut engine, GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]);
    assert!(failure(&mut engine, unseen).ends_with("refused stream"));
    assert_eq!(outcome(&mut engine, seen), None);
    assert!(engine.is_closing() && !engine.is_over());
    let late = get(&mut engine);
    assert!(failure(&mut engine, late).ends_with("refused stream"));
    engine.closed();
    let message = "connection reset: http/2: detected excessive load generating behavior";
    assert_eq!(failure(&mut engine, seen), message);
    assert!(engine.is_over());
}

#[test]
fn resets_show_whether_the_request_was_processed() {
    let mut engine = connected();
    let keys = [get(&mut engine), get(&mut engine)];
    feed(&mut engine, RST_STREAM, 0, 1, &7_u32.to_be_bytes());
    feed(&mut engine, RST_STREAM, 0, 3, &2_u32.to_be_bytes());
    assert!(failure(&mut engine, keys[0]).ends_with("refused stream"));
    let message = "connection reset: http/2: unexpected internal error encountered";
    assert_eq!(failure(&mut engine, keys[1]), message);
    written(&mut engine);
    for key in keys {
        engine.take(key);
    }
    assert!(written(&mut engine).is_empty());
    // Frames sent before the server knew of the end are ignored.
    feed(&mut engine, HEADERS, END_HEADERS, 1, OK);
    feed(&mut engine, DATA, END_STREAM, 1, b"late");
    assert!(!engine.is_closing());
}

#[test]
fn pings_are_acknowledged_and_lgooses_own_are_noticed() {
    let mut engine = connected();
    feed(&mut engine, PING, 0, 0, b"12345678");
    assert_eq!(written(&mut engine), [(PING, ACK, 0, 8)]);
    engine.ping();
    feed(&mut engine, PING, ACK, 0, b"12345678");
    assert_eq!(engine.pong(), None, "another's");
    feed(&mut engine, PING, ACK, 0, &PING_PAYLOAD);
    assert_eq!(engine.pong(), Some(true));
    engine.ping();
    engine.closed();
    assert_eq!(engine.pong(), Some(false));
}

#[test]
fn what_breaks_the_protocol_ends_the_connection() {
    type Break = (&'static str, fn(&mut Engine));
    let breaks: [Break; 26] = [
        ("frame with invalid size", |engine| {
            engine.read(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        }),
        ("unspecific", |engine| feed(engine, DATA, 0, 0, b"")),
        ("unspecific", |engine| {
            feed(engine, HEADERS, END_HEADERS, 0, OK)
        }),
        ("unspecific", |engine| {
            feed(engine, HEADERS, END_HEADERS, 2, OK)
        }),
        ("unspecific", |engine| {
            feed(engine, HEADERS, END_HEADERS, 99, OK)
        }),
        ("unspecific", |engine| feed(engine, DATA, 0, 99, b"")),
        ("unspecific", |engine| {
            feed(engine, RST_STREAM, 0, 99, &[0; 4])
        }),
        ("invalid size", |engine| {
            feed(engine, RST_STREAM, 0, 1, &[0; 3])
        }),
        ("unspecific", |engine| {
            feed(engine, CONTINUATION, END_HEADERS, 1, OK)
        }),
        ("unspecific", |engine| {
            feed(engine, HEADERS, 0, 1, OK);
            feed(engine, PING, 0, 0, &[0; 8]);
        }),
        ("excessive load", |engine| {
            feed(engine, HEADERS, 0, 1, OK);
            (0..100).for_each(|_| feed(engine, CONTINUATION, 0, 1, &[]));
        }),
        ("excessive load", |engine| {
            feed(engine, HEADERS, 0, 1, OK);
            (0..20).for_each(|_| feed(engine, CONTINUATION, 0, 1, &[0; MAX_FRAME]));
        }),
        ("compression", |engine| {
            feed(engine, HEADERS, END_HEADERS, 1, &[0xff])
        }),
        ("unspecific", |engine| {
            feed(engine, PUSH_PROMISE, END_HEADERS, 1, &[0; 5])
        }),
        ("unspecific", |engine| feed(engine, SETTINGS, 0, 1, &[])),
        ("unspecific", |engine| {
            setting(engine, frame::ENABLE_CONNECT_PROTOCOL, 2);
        }),
        ("unspecific", |engine| {
            setting(engine, frame::ENABLE_CONNECT_PROTOCOL, 1);
            assert_eq!(engine.takes_tunnels(), Some(true));
            setting(engine, frame::ENABLE_CONNECT_PROTOCOL, 0);
        }),
        ("invalid size", |engine| {
            feed(engine, SETTINGS, 0, 0, &[0; 5])
        }),
        ("invalid size", |engine| {
            feed(engine, SETTINGS, ACK, 0, &[0; 6])
        }),
        ("flow-control", |engine| {
            setting(engine, frame::INITIAL_WINDOW_SIZE, 1 << 31)
        }),
        ("unspecific", |engine| {
            setting(engine, frame::MAX_FRAME_SIZE, 1)
        }),
        ("unspecific", |engine| {
            setting(engine, frame::ENABLE_PUSH, 1)
        }),
        ("invalid size", |engine| feed(engine, PING, 0, 0, &[0; 7])),
        ("unspecific", |engine| {
            feed(engine, WINDOW_UPDATE, 0, 0, &[0; 4])
        }),
        ("flow-control", |engine| {
            feed(engine, WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])
        }),
        ("invalid size", |engine| feed(engine, GOAWAY, 0, 0, &[0; 7])),
    ];
    for (index, (message, act)) in breaks.into_iter().enumerate() {
        let mut engine = connected();
        let key = get(&mut engine);
        written(&mut engine);
        act(&mut engine);
        let failure = failure(&mut engine, key);
        assert!(
            failure.starts_with("protocol: http/2: ") && failure.contains(message),
            "{index}: {failure}"
        );
        assert_eq!(
            written(&mut engine).last().map(|frame| frame.0),
            Some(GOAWAY),
            "{index}"
        );
        feed(&mut engine, PING, 0, 0, &[0; 8]);
        assert!(written(&mut engine).is_empty(), "{index}: it has ended");
    }
    let mut engine = Engine::new();
    feed(&mut engine, PING, 0, 0, &[0; 8]);
    assert!(engine.is_over(), "settings come first");
}

#[test]
fn a_fault_of_a_stream_ends_only_that() {
    let mut engine = connected();
    let faulty: [fn(&mut Engine); 4] = [
        |engine| feed(engine, HEADERS, END_HEADERS, 1, &[]),
        |engine| feed(engine, DATA, 0, 3, b"before the head"),
        |engine| feed(engine, WINDOW_UPDATE, 0, 5, &[0; 4]),
        |engine| feed(engine, WINDOW_UPDATE, 0, 7, &[0x7f, 0xff, 0xff, 0xff]),
    ];
    let keys = faulty.map(|_| get(&mut engine));
    let good = get(&mut engine);
    written(&mut engine);
    for (act, key) in faulty.into_iter().zip(keys) {
        act(&mut engine);
        assert!(failure(&mut engine, key).starts_with("protocol: http/2: "));
        assert!(matches!(written(&mut engine)[..], [(RST_STREAM, 0, _, 4)]));
    }
    feed(&mut engine, HEADERS, END_HEADERS | END_STREAM, 9, OK);
    assert_eq!(outcome(&mut engine, good), Some(Ok(())));
}

#[test]
fn any_frames_come_to_the_same_in_any_pieces() {
    for seed in 0..3_000 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut bytes = Vec::new();
        frame::write(&mut bytes, SETTINGS, 0, 0, &[]);
        for _ in 0..random.random_range(1..12) {
            let kind = [
                0,
                0,
                1,
                1,
                1,
                3,
                4,
                6,
                7,
                8,
                9,
                random.random_range(0..=255),
            ];
            let kind = kind[random.random_range(0..kind.len())];
            let flags = random.random::<u8>() & if random.random_bool(0.9) { 0x05 } else { 0xff };
            let stream = [0, 1, 1, 3, 3, random.random_range(0..9)][random.random_range(0..6)];
            let mut payload = vec![0; random.random_range(0..40)];
            random.fill(&mut payload[..]);
            if kind == HEADERS && random.random_bool(0.7) {
                payload = [OK, b"\x40\x01a\x01b", b"\xbe", b"\x00\x01c\x81\x1f"].concat();
                payload.truncate(random.random_range(0..=payload.len()));
            }
            frame::write(&mut bytes, kind, flags, stream, &payload);
        }
        let whole = outcomes_of(&bytes, bytes.len(), 100);
        for size in [1, 7, random.random_range(1..50)] {
            assert_eq!(outcomes_of(&bytes, size, 100), whole, "seed {seed}, {size}");
        }
    }
}

#[test]
fn a_slow_reader_slows_its_own_stream_down_and_no_other() {
    let mut engine = connected();
    let body = Rc::new(StreamedBody::new(1 << 20));
    let limits = BodyLimits {
        stream: Some(body.clone()),
        ..LIMITS
    };
    let slow = engine.start_request(&[0x82], Bytes::new(), false, limits);
    let other = get(&mut engine);
    for id in [1, 3] {
        feed(&mut engine, HEADERS, END_HEADERS, id, OK);
    }
    written(&mut engine);
    let widened = |engine: &mut Engine| -> Vec<u32> {
        let frames = written(engine).into_iter();
        let frames = frames.filter(|(kind, ..)| *kind == WINDOW_UPDATE);
        frames.map(|(_, _, stream, _)| stream).collect()
    };
    // Fills the windows of both streams, of which the plan reads nothing.
    let piece = vec![b'x'; MAX_FRAME];
    let all = STREAM_WINDOW as usize / MAX_FRAME;
    for _ in 0..all {
        feed(&mut engine, DATA, 0, 1, &piece);
        feed(&mut engine, DATA, 0, 3, &piece);
    }
    let updates = widened(&mut engine);
    assert!(!updates.contains(&1), "{updates:?}");
    assert!(updates.contains(&3) && updates.contains(&0), "{updates:?}");
    assert!(body.waiting_bytes() <= 257 << 10);
    let end = body.times_after(0).len();
    // What it reads, it gets in order, and the server may go on.
    let mut read = 0;
    for _ in 0..end {
        read += body.take().map_or(0, |piece| piece.bytes.len());
    }
    engine.catch_up(slow);
    assert_eq!(body.waiting_bytes(), read, "as much as it had room for");
    let mut updates = widened(&mut engine);
    while let Some(piece) = body.take() {
        read += piece.bytes.len();
        engine.catch_up(slow);
        updates.extend(widened(&mut engine));
    }
    assert_eq!(read, STREAM_WINDOW as usize);
    assert_eq!(updates, [1]);
    // The end comes once all was read.
    for _ in 0..all {
        feed(&mut engine, DATA, 0, 1, &piece);
    }
    feed(&mut engine, DATA, END_STREAM, 1, &[]);
    assert!(!engine.stream(slow).expect("it is under way").is_done());
    while body.take().is_some() {
        engine.catch_up(slow);
    }
    assert!(engine.stream(slow).expect("it is under way").is_done());
    assert_eq!(outcome(&mut engine, slow), Some(Ok(())));
    assert!(outcome(&mut engine, other).is_none());
    // A server that sends more than it may ends the stream.
    let limits = BodyLimits {
        stream: Some(Rc::new(StreamedBody::new(1 << 20))),
        ..LIMITS
    };
    let greedy = engine.start_request(&[0x82], Bytes::new(), false, limits);
    feed(&mut engine, HEADERS, END_HEADERS, 5, OK);
    for _ in 0..=all {
        feed(&mut engine, DATA, 0, 5, &piece);
    }
    let why = failure(&mut engine, greedy);
    assert!(why.starts_with("protocol: http/2"), "{why}");
    assert!(!engine.has_ended());
}

#[test]
fn a_reader_that_has_closed_holds_nothing_up() {
    let mut engine = connected();
    let body = Rc::new(StreamedBody::new(1 << 20));
    let limits = BodyLimits {
        stream: Some(body.clone()),
        ..LIMITS
    };
    let key = engine.start_request(&[0x82], Bytes::new(), false, limits);
    feed(&mut engine, HEADERS, END_HEADERS, 1, OK);
    let piece = vec![b'x'; MAX_FRAME];
    for _ in 0..STREAM_WINDOW as usize / MAX_FRAME {
        feed(&mut engine, DATA, 0, 1, &piece);
    }
    assert!(engine.stream(key).expect("it is under way").is_behind());
    body.close();
    engine.catch_up(key);
    let stream = engine.stream(key).expect("it is under way");
    assert!(!stream.is_behind());
    assert_eq!(stream.receive_window, i64::from(STREAM_WINDOW));
    assert!(body.waiting_bytes() <= 257 << 10);
    feed(&mut engine, DATA, END_STREAM, 1, &piece);
    assert!(engine.stream(key).expect("it is under way").is_done());
}
