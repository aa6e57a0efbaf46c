//! Rules by which a plan takes bytes of a peer: so many, a line, all until the end.

use lgoose_http::{ErrorClass, Failure};
use memchr::memchr;
use memchr::memmem;

/// How much a plan takes at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiveRule {
    /// So many bytes.
    Bytes(usize),
    /// A line of at most so many bytes, without its end (LF, or CR and LF).
    Line(usize),
    /// The bytes before these, which are left out; at most so many.
    Until(Box<[u8]>, usize),
    /// All until the peer closes.
    All,
    /// All bytes received so far, at least one.
    Some,
    /// A datagram.
    Datagram,
}

/// The first of the received bytes: how many the plan takes, and how many are used up with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portion {
    pub(super) taken: usize,
    pub(super) used: usize,
}

impl ReceiveRule {
    /// Finds the first portion of the received bytes. `searched` bytes of it were searched before without success; it is set to how many
    /// have been now. `ended` says whether nothing more will come.
    ///
    /// # Errors
    /// There is more without an end than the rule allows, or than `most`, which can wait.
    pub(super) fn portion(
        &self,
        unread: &[u8],
        searched: &mut usize,
        ended: bool,
        most: usize,
    ) -> Result<Option<Portion>, Failure> {
        let whole = |count: usize| Portion {
            taken: count,
            used: count,
        };
        let from = std::mem::replace(searched, unread.len()).min(unread.len());
        let (found, limit) = match self {
            ReceiveRule::Bytes(count) => {
                return Ok((unread.len() >= *count).then(|| whole(*count)));
            }
            ReceiveRule::Some => return Ok((!unread.is_empty()).then(|| whole(unread.len()))),
            ReceiveRule::All if ended => return Ok(Some(whole(unread.len()))),
            ReceiveRule::All | ReceiveRule::Datagram => (None, most),
            ReceiveRule::Line(limit) => {
                let end = memchr(b'\n', &unread[from..]).map(|end| from + end);
                let portion = end.map(|end| Portion {
                    taken: end - usize::from(unread[..end].ends_with(b"\r")),
                    used: end + 1,
                });
                (portion, *limit)
            }
            ReceiveRule::Until(delimiter, limit) => {
                // It may have begun before.
                let from = from.saturating_sub(delimiter.len() - 1);
                let end = memmem::find(&unread[from..], delimiter).map(|end| from + end);
                let portion = end.map(|end| Portion {
                    taken: end,
                    used: end + delimiter.len(),
                });
                (portion, *limit)
            }
        };
        match found {
            Some(portion) if portion.taken <= limit => Ok(Some(portion)),
            None if unread.len() <= limit && unread.len() < most => Ok(None),
            _ => Err(Failure::new(ErrorClass::TooLarge, self.excess(limit, most))),
        }
    }

    fn excess(&self, limit: usize, most: usize) -> &'static str {
        match self {
            ReceiveRule::Line(_) if limit < most => "a line is longer than 'max'",
            ReceiveRule::Until(..) if limit < most => {
                "what ends with 'until_' is longer than 'max'"
            }
            ReceiveRule::All => "the peer sends more than 'max_buffer'",
            _ => "the peer sends more than 'max_buffer' without the end that is waited for",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes portions from bytes that come in pieces of that length, until none is left or one is too large.
    fn portions(rule: &ReceiveRule, text: &[u8], piece: usize) -> Vec<String> {
        let (mut unread, mut searched, mut all) = (Vec::new(), 0, Vec::new());
        let mut pieces = text.chunks(piece);
        loop {
            let next = pieces.next();
            unread.extend_from_slice(next.unwrap_or_default());
            loop {
                match rule.portion(&unread, &mut searched, next.is_none(), 20) {
                    Ok(None) => break,
                    Err(failure) => {
                        all.push(failure.class.name().to_owned());
                        return all;
                    }
                    Ok(Some(portion)) => {
                        all.push(String::from_utf8_lossy(&unread[..portion.taken]).into_owned());
                        unread.drain(..portion.used);
                        searched = 0;
                        if portion.used == 0 {
                            return all;
                        }
                    }
                }
            }
            if next.is_none() {
                return all;
            }
        }
    }

    #[test]
    fn portions_are_the_same_however_the_bytes_come() {
        let until = |end: &[u8], most| ReceiveRule::Until(end.into(), most);
        for piece in 1..8 {
            let of = |rule, text: &str| portions(&rule, text.as_bytes(), piece).join("|");
            assert_eq!(of(ReceiveRule::Bytes(3), "abcdefgh"), "abc|def");
            assert_eq!(of(ReceiveRule::Line(9), "a\r\nb\n\r\n\nc"), "a|b||");
            assert_eq!(of(until(b"\r\n\r\n", 9), "a\r\n\r\r\n\r\nb"), "a\r\n\r");
            assert_eq!(of(until(b"aab", 9), "aaab-aab"), "a|-");
            assert_eq!(of(ReceiveRule::All, "all of it"), "all of it|");
            // Too much without an end.
            assert_eq!(of(ReceiveRule::Line(4), "abcd\nabcde\n"), "abcd|too large");
            assert_eq!(of(until(b";", 3), "abc;abcd;"), "abc|too large");
            assert_eq!(of(ReceiveRule::All, &"x".repeat(21)), "too large");
            assert_eq!(of(ReceiveRule::Line(20), &"x".repeat(50)), "too large");
        }
    }
}
