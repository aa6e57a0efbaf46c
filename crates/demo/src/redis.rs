//! A small store of keys that speaks the protocol of Redis, version 2 or 3, or takes commands as lines: `PING`, `ECHO`, `SET`, `GET`,
//! `DEL`, `INCR`, `HSET`, `HGETALL`, `HELLO`, `SELECT`, `QUIT`. The only site that speaks no HTTP. Driven by the server.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::behaviour::Behaviour;

/// The most bytes of a command, and the most keys.
const MAX_COMMAND_BYTES: usize = 1 << 20;
const MAX_KEYS: usize = 100_000;

/// The labels that commands are counted under.
pub(super) const LABELS: [&str; 12] = [
    "DEL", "ECHO", "GET", "HELLO", "HGETALL", "HSET", "INCR", "PING", "QUIT", "SELECT", "SET",
    "other",
];

/// The store.
#[derive(Default)]
pub(super) struct Redis {
    keys: Mutex<HashMap<Vec<u8>, Stored>>,
}

/// The value of a key.
enum Stored {
    Text(Vec<u8>),
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
}

/// A reply.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Simple(&'static str),
    Bulk(Vec<u8>),
    Integer(i64),
    Null,
    Error(&'static str),
    Map(Vec<(Vec<u8>, Reply)>),
}

const WRONG_TYPE: Reply =
    Reply::Error("WRONGTYPE Operation against a key holding the wrong kind of value");

impl Redis {
    /// Serves a connection until either side closes it. `count` is passed the label of each command. How it ends does not matter.
    pub(super) async fn serve(
        &self,
        mut tcp: TcpStream,
        behaviour: &Behaviour,
        count: impl Fn(&'static str),
    ) {
        let (mut unread, mut replies, mut version) = (Vec::new(), Vec::new(), 2);
        loop {
            match next_command(&mut unread) {
                Ok(Some(command)) if command.is_empty() => {}
                Ok(Some(command)) => {
                    let name = command[0].to_ascii_uppercase();
                    let label = LABELS.iter().find(|label| label.as_bytes() == name);
                    count(label.copied().unwrap_or("other"));
                    if let Some(delay) = behaviour.delay() {
                        tokio::time::sleep(delay).await;
                    }
                    let reply = if behaviour.fails() {
                        Reply::Error("ERR the demo fails, as it should")
                    } else {
                        self.reply(&command, &mut version)
                    };
                    reply.write(version, &mut replies);
                    if name == b"QUIT" {
                        let _sent = tcp.write_all(&replies).await;
                        return;
                    }
                }
                Ok(None) => {
                    let sent = tcp.write_all(&replies).await;
                    replies.clear();
                    match tcp.read_buf(&mut unread).await {
                        Ok(1..) if sent.is_ok() && unread.len() <= MAX_COMMAND_BYTES => {}
                        _ => return,
                    }
                }
                Err(problem) => {
                    Reply::Error(problem).write(version, &mut replies);
                    let _sent = tcp.write_all(&replies).await;
                    return;
                }
            }
        }
    }

    /// Returns the reply to a command of a connection that speaks that version.
    fn reply(&self, command: &[Vec<u8>], version: &mut u8) -> Reply {
        let name = command[0].to_ascii_uppercase();
        let arguments = &command[1..];
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |key: &Vec<u8>| !keys.contains_key(key);
        let adds = matches!(&name[..], b"SET" | b"INCR" | b"HSET");
        if adds && keys.len() >= MAX_KEYS && arguments.first().is_some_and(is_new) {
            return Reply::Error("OOM there are too many keys");
        }
        match (&name[..], arguments) {
            (b"PING", []) => Reply::Simple("PONG"),
            (b"PING" | b"ECHO", [text]) => Reply::Bulk(text.clone()),
            (b"QUIT" | b"SELECT", _) => Reply::Simple("OK"),
            (b"HELLO", asked) => {
                *version = match asked.first().map(|version| &version[..]) {
                    None => *version,
                    Some(b"2") => 2,
                    Some(b"3") => 3,
                    Some(_) => return Reply::Error("NOPROTO unsupported protocol version"),
                };
                Reply::Map(vec![
                    (b"server".to_vec(), Reply::Bulk(b"demo".to_vec())),
                    (b"proto".to_vec(), Reply::Integer((*version).into())),
                ])
            }
            (b"SET", [key, value]) => {
                keys.insert(key.clone(), Stored::Text(value.clone()));
                Reply::Simple("OK")
            }
            (b"GET", [key]) => match keys.get(key) {
                None => Reply::Null,
                Some(Stored::Text(text)) => Reply::Bulk(text.clone()),
                Some(Stored::Hash(_)) => WRONG_TYPE,
            },
            (b"DEL", [_, ..]) => {
                let removed = arguments.iter().filter(|key| keys.remove(*key).is_some());
                Reply::Integer(removed.count() as i64)
            }
            (b"INCR", [key]) => {
                let before = match keys.get(key) {
                    None => b"0",
                    Some(Stored::Text(text)) => &text[..],
                    Some(Stored::Hash(_)) => return WRONG_TYPE,
                };
                let number = std::str::from_utf8(before).ok();
                let number = number.and_then(|text| text.parse::<i64>().ok()?.checked_add(1));
                let Some(number) = number else {
                    return Reply::Error("ERR value is not an integer or out of range");
                };
                keys.insert(key.clone(), Stored::Text(number.to_string().into_bytes()));
                Reply::Integer(number)
            }
            (b"HSET", [key, pairs @ ..]) if !pairs.is_empty() && pairs.len() % 2 == 0 => {
                let hash = || Stored::Hash(BTreeMap::new());
                let Stored::Hash(fields) = keys.entry(key.clone()).or_insert_with(hash) else {
                    return WRONG_TYPE;
                };
                let pairs = pairs.chunks_exact(2);
                let added = pairs.filter(|pair| {
                    let before = fields.insert(pair[0].clone(), pair[1].clone());
                    before.is_none()
                });
                Reply::Integer(added.count() as i64)
            }
            (b"HGETALL", [key]) => match keys.get(key) {
                None => Reply::Map(Vec::new()),
                Some(Stored::Text(_)) => WRONG_TYPE,
                Some(Stored::Hash(fields)) => {
                    let fields = fields.iter();
                    let pairs =
                        fields.map(|(name, value)| (name.clone(), Reply::Bulk(value.clone())));
                    Reply::Map(pairs.collect())
                }
            },
            (name, _) if LABELS.iter().any(|label| label.as_bytes() == name) => {
                Reply::Error("ERR wrong number of arguments")
            }
            _ => Reply::Error("ERR unknown command"),
        }
    }
}

impl Reply {
    /// Writes it as that version of the protocol has it.
    fn write(&self, version: u8, to: &mut Vec<u8>) {
        match self {
            Reply::Simple(text) => to.extend_from_slice(format!("+{text}\r\n").as_bytes()),
            Reply::Error(text) => to.extend_from_slice(format!("-{text}\r\n").as_bytes()),
            Reply::Integer(number) => to.extend_from_slice(format!(":{number}\r\n").as_bytes()),
            Reply::Null if version == 3 => to.extend_from_slice(b"_\r\n"),
            Reply::Null => to.extend_from_slice(b"$-1\r\n"),
            Reply::Bulk(bytes) => {
                to.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
                to.extend_from_slice(bytes);
                to.extend_from_slice(b"\r\n");
            }
            Reply::Map(pairs) => {
                let head = match version {
                    3 => format!("%{}\r\n", pairs.len()),
                    _ => format!("*{}\r\n", pairs.len() * 2),
                };
                to.extend_from_slice(head.as_bytes());
                for (key, value) in pairs {
                    Reply::Bulk(key.clone()).write(version, to);
                    value.write(version, to);
                }
            }
        }
    }
}

/// Takes the next command from the bytes so far; `None` if it is incomplete. A line of words is one, too.
fn next_command(unread: &mut Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, &'static str> {
    let mut at = 0;
    let Some(line) = line_at(unread, &mut at) else {
        return Ok(None);
    };
    let Some(count) = line.strip_prefix(b"*") else {
        let words = line.split(u8::is_ascii_whitespace).map(<[u8]>::to_vec);
        let command = words.filter(|word| !word.is_empty()).collect();
        unread.drain(..at);
        return Ok(Some(command));
    };
    let count = number(count).filter(|count| *count <= 1_000);
    let count = count.ok_or("ERR Protocol error: invalid multibulk length")?;
    let mut command = Vec::new();
    for _ in 0..count {
        let Some(line) = line_at(unread, &mut at) else {
            return Ok(None);
        };
        let length = line.strip_prefix(b"$").and_then(number);
        let length = length.filter(|length| *length <= MAX_COMMAND_BYTES);
        let length = length.ok_or("ERR Protocol error: invalid bulk length")?;
        let Some(text) = unread.get(at..at + length + 2) else {
            return Ok(None);
        };
        command.push(text[..length].to_vec());
        at += length + 2;
    }
    unread.drain(..at);
    Ok(Some(command))
}

/// Returns the line that begins there, and sets where the next one does.
fn line_at<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let rest = bytes.get(*at..)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    *at += end + 1;
    Some(rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]))
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect()
    }

    #[test]
    fn commands_come_in_pieces_and_as_lines() {
        let sent = b"*2\r\n$3\r\nGET\r\n$5\r\na\r\nbc\r\nPING  x\r\n\r\n";
        let (mut unread, mut commands) = (Vec::new(), Vec::new());
        for byte in sent {
            unread.push(*byte);
            commands.extend(next_command(&mut unread).expect("it is right"));
        }
        let get = vec![b"GET".to_vec(), b"a\r\nbc".to_vec()];
        assert_eq!(commands, [get, words("PING x"), Vec::new()]);
        for wrong in ["*x\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n"] {
            assert!(
                next_command(&mut wrong.as_bytes().to_vec()).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_store_keeps_what_it_is_given() {
        let (store, mut version) = (Redis::default(), 2);
        for (command, expected) in [
            ("get a", "$-1\r\n"),
            ("SET a 7", "+OK\r\n"),
            ("GET a", "$1\r\n7\r\n"),
            ("INCR a", ":8\r\n"),
            (
                "HSET a b c",
                "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
            ),
            ("HSET h b c", ":1\r\n"),
            ("HGETALL h", "*2\r\n$1\r\nb\r\n$1\r\nc\r\n"),
            (
                "HELLO 3",
                "%2\r\n$6\r\nserver\r\n$4\r\ndemo\r\n$5\r\nproto\r\n:3\r\n",
            ),
            ("HGETALL h", "%1\r\n$1\r\nb\r\n$1\r\nc\r\n"),
            ("GET none", "_\r\n"),
            ("DEL a h none", ":2\r\n"),
            ("GET", "-ERR wrong number of arguments\r\n"),
            ("FLUSHALL", "-ERR unknown command\r\n"),
        ] {
            let mut text = Vec::new();
            store
                .reply(&words(command), &mut version)
                .write(version, &mut text);
            assert_eq!(String::from_utf8_lossy(&text), expected, "{command}");
        }
    }
}
