//! Messages in the bytes of a stream: server-sent events, lines and chunks. Bytes in, messages out.

use bytes::{Buf as _, Bytes, BytesMut};
use std::time::Duration;
use tokio::time::Instant;

/// The unit in which a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// A server-sent event.
    Event,
    /// A line, without its end.
    Line,
    /// The bytes received since the last chunk.
    Chunk,
}

/// A message of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamMessage {
    Event(ServerSentEvent),
    /// A line or a chunk.
    Bytes(Bytes),
}

impl StreamMessage {
    /// Returns its bytes, of an event those of its data.
    pub(super) fn data(&self) -> &[u8] {
        match self {
            StreamMessage::Event(event) => &event.data,
            StreamMessage::Bytes(bytes) => bytes,
        }
    }
}

/// An event as the HTML standard has it ("Server-sent events", interpreting an event stream).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerSentEvent {
    /// The lines of its data, joined by line feeds.
    pub(crate) data: Vec<u8>,
    /// Its type, `message` unless it says another.
    pub(crate) name: Vec<u8>,
    /// The last identity that an event up to this one has set.
    pub(crate) id: Vec<u8>,
}

/// Reader of the messages in the bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct StreamReader {
    pub(super) unread: BytesMut,
    /// The length of the beginning that is known to have no end of a line.
    searched: usize,
    /// The time at which the latest bytes came.
    pub(super) at: Option<Instant>,
    /// Whether nothing more comes.
    pub(super) is_whole: bool,
    /// Whether a carriage return was the last byte: a line feed after it ends no other line.
    after_return: bool,
    has_line: bool,
    event: ServerSentEvent,
    has_data: bool,
    /// The latest identity, and that which was the latest at an empty line; `None` where there was none so far.
    last_id: Option<Vec<u8>>,
    pub(super) settled_id: Option<Vec<u8>>,
    pub(super) retry: Option<Duration>,
}

impl StreamReader {
    /// Returns the bytes that it holds of messages that have not come completely.
    pub(super) fn held(&self) -> usize {
        self.unread.len() + self.event.data.len() + self.event.name.len()
    }

    pub(super) fn next(&mut self, kind: MessageKind) -> Option<StreamMessage> {
        match kind {
            MessageKind::Chunk => {
                self.searched = 0;
                let chunk = self.unread.split().freeze();
                (!chunk.is_empty()).then_some(StreamMessage::Bytes(chunk))
            }
            MessageKind::Line => {
                let line = self.line(|byte| byte == b'\n');
                let line = line.or_else(|| self.last_line())?;
                let mut line = line.freeze();
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len() - 1);
                }
                Some(StreamMessage::Bytes(line))
            }
            MessageKind::Event => loop {
                let line = self.line(|byte| matches!(byte, b'\n' | b'\r'))?;
                if let Some(event) = self.take_field(&line) {
                    return Some(StreamMessage::Event(event));
                }
            },
        }
    }

    /// Takes the next line, without its end.
    fn line(&mut self, ends: impl Fn(u8) -> bool) -> Option<BytesMut> {
        if self.after_return && !self.unread.is_empty() {
            self.after_return = false;
            if self.unread[0] == b'\n' {
                self.unread.advance(1);
            }
        }
        let end = self.unread[self.searched..]
            .iter()
            .position(|byte| ends(*byte));
        let Some(end) = end.map(|end| self.searched + end) else {
            self.searched = self.unread.len();
            return None;
        };
        self.after_return = self.unread[end] == b'\r';
        let line = self.unread.split_to(end);
        self.unread.advance(1);
        self.searched = 0;
        Some(line)
    }

    /// Takes the remaining bytes, if nothing more comes.
    fn last_line(&mut self) -> Option<BytesMut> {
        if !self.is_whole || self.unread.is_empty() {
            return None;
        }
        self.searched = 0;
        Some(self.unread.split())
    }

    /// Takes a line of an event stream; returns the event that it completes.
    fn take_field(&mut self, line: &[u8]) -> Option<ServerSentEvent> {
        let is_first = !std::mem::replace(&mut self.has_line, true);
        let mark = "\u{feff}".as_bytes();
        let unmarked = line.strip_prefix(mark).filter(|_| is_first);
        let line = unmarked.unwrap_or(line);
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = value.to_vec(),
            b"id" if !value.contains(&0) => self.last_id = Some(value.to_vec()),
            b"retry" => self.retry = retry(value).or(self.retry),
            // A comment, or a field that the standard does not define.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerSentEvent> {
        self.settled_id.clone_from(&self.last_id);
        let mut event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        if event.name.is_empty() {
            event.name = b"message".to_vec();
        }
        event.id = self.last_id.clone().unwrap_or_default();
        Some(event)
    }
}

/// Reads the reconnection time that the server requests: digits, in milliseconds.
fn retry(value: &[u8]) -> Option<Duration> {
    const LONGEST_MS: u64 = 86_400_000;
    let digits = std::str::from_utf8(value).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    // A number that does not fit is long.
    let ms = || digits.parse().unwrap_or(LONGEST_MS).min(LONGEST_MS);
    is_number.then(|| Duration::from_millis(ms()))
}

/// Reads bytes at once and in pieces of a size; both must give the same events and lines. For the fuzz target.
pub fn read_in_pieces(bytes: &[u8], size: usize) {
    for kind in [MessageKind::Event, MessageKind::Line] {
        let whole = messages_in_pieces(bytes, bytes.len(), kind);
        assert_eq!(whole, messages_in_pieces(bytes, size, kind));
    }
}

/// Reads bytes in pieces of a size, to their end.
fn messages_in_pieces(bytes: &[u8], size: usize, kind: MessageKind) -> Vec<StreamMessage> {
    let (mut reader, mut found) = (StreamReader::default(), Vec::new());
    for piece in bytes.chunks(size.max(1)) {
        reader.unread.extend_from_slice(piece);
        found.extend(std::iter::from_fn(|| reader.next(kind)));
    }
    reader.is_whole = true;
    found.extend(std::iter::from_fn(|| reader.next(kind)));
    let most = match kind {
        MessageKind::Event => bytes.len(),
        MessageKind::Line | MessageKind::Chunk => 0,
    };
    assert!(reader.held() <= most, "more is held than can be a message");
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text in pieces of that size.
    fn read(text: &str, size: usize, kind: MessageKind) -> Vec<StreamMessage> {
        messages_in_pieces(text.as_bytes(), size, kind)
    }

    fn events(text: &str) -> Vec<(String, String, String)> {
        let of = |size| {
            let texts = read(text, size, MessageKind::Event)
                .into_iter()
                .map(|message| {
                    let StreamMessage::Event(event) = message else {
                        panic!("{message:?} is no event");
                    };
                    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
                    (text(event.name), text(event.data), text(event.id))
                });
            texts.collect::<Vec<_>>()
        };
        let whole = of(text.len().max(1));
        for size in 1..text.len() {
            assert_eq!(of(size), whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    fn event(name: &str, data: &str, id: &str) -> (String, String, String) {
        (name.to_owned(), data.to_owned(), id.to_owned())
    }

    /// The examples of the standard, and its edge cases.
    #[test]
    fn events_are_those_of_the_standard() {
        let message = |data| event("message", data, "");
        for (text, expected) in [
            (
                "data: YHOO\ndata: +2\ndata: 10\n\n",
                vec![message("YHOO\n+2\n10")],
            ),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                vec![
                    event("message", "first event", "1"),
                    event("message", "second event", ""),
                    event("message", " third event", ""),
                ],
            ),
            (
                "data\n\ndata\ndata\n\ndata:\n",
                vec![message(""), message("\n")],
            ),
            (
                "data:test\n\ndata: test\n\n",
                vec![message("test"), message("test")],
            ),
            (
                "\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\n",
                vec![message("a"), message("b"), message("c")],
            ),
            (
                "event: add\nid: 7\ndata: x\n\nevent: rm\n\ndata: y\n\n",
                vec![event("add", "x", "7"), event("message", "y", "7")],
            ),
            (
                "id: a\0b\ndata: x\nretry: 10\nunknown: y\n\n",
                vec![message("x")],
            ),
            ("data: cut off\n", vec![]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(events(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_and_chunks_are_all_that_came() {
        let bytes = |text: &'static str| StreamMessage::Bytes(Bytes::from_static(text.as_bytes()));
        for size in 1..12 {
            let lines = read("a\r\n\nbc\rd\nlast", size, MessageKind::Line);
            assert_eq!(
                lines,
                [bytes("a"), bytes(""), bytes("bc\rd"), bytes("last")]
            );
        }
        assert_eq!(read("a\n", 5, MessageKind::Line), [bytes("a")]);
        assert_eq!(
            read("abcde", 2, MessageKind::Chunk),
            [bytes("ab"), bytes("cd"), bytes("e")]
        );
    }
}
