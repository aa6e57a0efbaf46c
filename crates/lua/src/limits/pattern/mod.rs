//! Lua's pattern matching with counted steps. Lua's own matcher backtracks inside one call, where no
//! hook can end it: a pattern that may take long is tried here first, within the task's time, and then passed
//! to Lua. A port of the matcher of `lstrlib.c` (Lua 5.4.9); malformed patterns are reported by Lua.

use super::vm_limits::VmLimits;
use mlua::{Lua, LuaString};

/// The number of steps that Lua may do unguarded, about a millisecond.
const FEW_STEPS: f64 = 200_000.0;
/// The number of steps between two reports, and the work that each step counts as.
const REPORT: u32 = 4096;
const WEIGHT: u64 = 16;
/// The same limits as in Lua.
const MOST_CAPTURES: usize = 32;
const MAX_DEPTH: u32 = 200;

/// Ends the task if a search would take longer than the task may. `all` is set for a search that goes on after the
/// first match.
pub(crate) fn guard(
    lua: &Lua,
    limits: &VmLimits,
    (text, pattern, start, all): (LuaString, LuaString, i64, bool),
) -> mlua::Result<()> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    if worst_case(&pattern, text.len()) <= FEW_STEPS {
        return Ok(());
    }
    let mut spend = |steps: u32| limits.spend(lua, u64::from(steps) * WEIGHT);
    let start = first_place(text.len(), start);
    if start > text.len() {
        return Ok(());
    }
    match search(&text, &pattern, start, all, &mut spend) {
        Err(SearchError::OutOfTime(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Returns the place in a text, from 0, at which a search with that `init` of Lua's begins.
pub(crate) fn first_place(length: usize, init: i64) -> usize {
    match init {
        1.. => usize::try_from(init - 1).unwrap_or(usize::MAX),
        0 => 0,
        before_end => length.saturating_sub(before_end.unsigned_abs() as usize),
    }
}

/// Computes an upper bound of the steps: each repeated item may take any length, at each start.
fn worst_case(pattern: &[u8], length: usize) -> f64 {
    let repeated = pattern
        .iter()
        .filter(|byte| matches!(byte, b'*' | b'+' | b'-' | b'?'))
        .count();
    let bounded = pattern.windows(2).filter(|pair| pair == b"%b").count();
    let length = length.max(2) as f64;
    let items = (pattern.len() as f64 / 64.0).max(1.0);
    items * length.powi((repeated + bounded).min(64) as i32 + 1)
}

enum SearchError {
    /// The pattern is malformed or too complex.
    Malformed,
    /// The task's time is over.
    OutOfTime(mlua::Error),
}

type SearchResult<T> = Result<T, SearchError>;

fn search(
    text: &[u8],
    pattern: &[u8],
    start: usize,
    all: bool,
    spend: &mut dyn FnMut(u32) -> mlua::Result<()>,
) -> SearchResult<usize> {
    let anchored = pattern.first() == Some(&b'^');
    let from = usize::from(anchored);
    let mut matcher = Matcher {
        text,
        pattern,
        captures: Vec::new(),
        depth: 0,
        steps: 0,
        spend,
    };
    let (mut at, mut matches, mut latest) = (start, 0, None);
    loop {
        matcher.captures.clear();
        matcher.depth = 0;
        match matcher.matches(at, from)? {
            Some(end) if latest != Some(end) => {
                matches += 1;
                if !all {
                    return Ok(matches);
                }
                at = end;
                latest = Some(end);
            }
            _ => at += 1,
        }
        if anchored || at > text.len() {
            return Ok(matches);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum CaptureLength {
    Open,
    Position,
    Closed(usize),
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<(usize, CaptureLength)>,
    depth: u32,
    steps: u32,
    spend: &'a mut dyn FnMut(u32) -> mlua::Result<()>,
}

impl Matcher<'_> {
    fn step(&mut self) -> SearchResult<()> {
        self.steps = self.steps.saturating_add(1);
        if self.steps < REPORT {
            return Ok(());
        }
        (self.spend)(std::mem::take(&mut self.steps)).map_err(SearchError::OutOfTime)
    }

    /// Counts the reading of so many bytes of the pattern, as a long set needs at each byte of the text.
    fn read(&mut self, bytes: usize) {
        const BYTES_OF_A_STEP: usize = 16;
        let steps = u32::try_from(bytes / BYTES_OF_A_STEP).unwrap_or(u32::MAX);
        self.steps = self.steps.saturating_add(steps);
    }

    fn pat(&self, at: usize) -> Option<u8> {
        self.pattern.get(at).copied()
    }

    /// Returns the end of the match of the pattern from `p` at `s`.
    fn matches(&mut self, s: usize, p: usize) -> SearchResult<Option<usize>> {
        if self.depth == MAX_DEPTH {
            return Err(SearchError::Malformed);
        }
        self.depth += 1;
        let end = self.match_items(s, p);
        self.depth -= 1;
        end
    }

    fn match_items(&mut self, mut s: usize, mut p: usize) -> SearchResult<Option<usize>> {
        loop {
            self.step()?;
            let Some(item) = self.pat(p) else {
                return Ok(Some(s));
            };
            match (item, self.pat(p + 1)) {
                (b'(', Some(b')')) => return self.open(s, p + 2, CaptureLength::Position),
                (b'(', _) => return self.open(s, p + 1, CaptureLength::Open),
                (b')', _) => return self.close(s, p + 1),
                (b'$', None) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.balance(s, p + 2)? {
                    Some(end) => (s, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => match self.frontier(s, p + 2)? {
                    Some(next) => p = next,
                    None => return Ok(None),
                },
                (b'%', Some(digit @ b'0'..=b'9')) => match self.back_reference(s, digit)? {
                    Some(end) => (s, p) = (end, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let end = self.item_end(p)?;
                    self.read(end - p);
                    let one = self.single(s, p, end);
                    match self.pat(end) {
                        Some(b'?') => {
                            if one && let Some(done) = self.matches(s + 1, end + 1)? {
                                return Ok(Some(done));
                            }
                            p = end + 1;
                        }
                        Some(b'+') if one => return self.longest(s + 1, p, end),
                        Some(b'*') => return self.longest(s, p, end),
                        Some(b'-') => return self.shortest(s, p, end),
                        _ if one => (s, p) = (s + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    fn longest(&mut self, s: usize, p: usize, end: usize) -> SearchResult<Option<usize>> {
        let mut most = 0;
        while self.single(s + most, p, end) {
            self.step()?;
            most += 1;
        }
        for taken in (0..=most).rev() {
            if let Some(done) = self.matches(s + taken, end + 1)? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    fn shortest(&mut self, mut s: usize, p: usize, end: usize) -> SearchResult<Option<usize>> {
        loop {
            if let Some(done) = self.matches(s, end + 1)? {
                return Ok(Some(done));
            }
            if !self.single(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, length: CaptureLength) -> SearchResult<Option<usize>> {
        if self.captures.len() >= MOST_CAPTURES {
            return Err(SearchError::Malformed);
        }
        let level = self.captures.len();
        self.captures.push((s, length));
        let done = self.matches(s, p)?;
        if done.is_none() {
            self.captures.truncate(level);
        }
        Ok(done)
    }

    fn close(&mut self, s: usize, p: usize) -> SearchResult<Option<usize>> {
        let open = self
            .captures
            .iter()
            .rposition(|(_, length)| *length == CaptureLength::Open);
        let open = open.ok_or(SearchError::Malformed)?;
        self.captures[open].1 = CaptureLength::Closed(s - self.captures[open].0);
        let done = self.matches(s, p)?;
        if done.is_none() {
            self.captures[open].1 = CaptureLength::Open;
        }
        Ok(done)
    }

    fn back_reference(&self, s: usize, digit: u8) -> SearchResult<Option<usize>> {
        let capture = usize::from(digit).checked_sub(usize::from(b'1'));
        match capture.and_then(|index| self.captures.get(index)) {
            Some((from, CaptureLength::Closed(length))) => {
                let captured = &self.text[*from..from + length];
                Ok(self.text[s..].starts_with(captured).then_some(s + length))
            }
            Some((_, CaptureLength::Position)) => Ok(None),
            _ => Err(SearchError::Malformed),
        }
    }

    fn balance(&mut self, s: usize, p: usize) -> SearchResult<Option<usize>> {
        let (Some(open), Some(close)) = (self.pat(p), self.pat(p + 1)) else {
            return Err(SearchError::Malformed);
        };
        if self.text.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for at in s + 1..self.text.len() {
            self.step()?;
            if self.text[at] == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if self.text[at] == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// Returns the position in the pattern after `%f[set]`, if the frontier is at `s`.
    fn frontier(&mut self, s: usize, p: usize) -> SearchResult<Option<usize>> {
        if self.pat(p) != Some(b'[') {
            return Err(SearchError::Malformed);
        }
        let end = self.item_end(p)?;
        self.read(3 * (end - p));
        let before = s.checked_sub(1).map_or(0, |before| self.text[before]);
        let after = self.text.get(s).copied().unwrap_or(0);
        let is = !self.in_set(before, p, end - 1) && self.in_set(after, p, end - 1);
        Ok(is.then_some(end))
    }

    fn item_end(&self, p: usize) -> SearchResult<usize> {
        match (self.pat(p), self.pat(p + 1)) {
            (Some(b'%'), None) | (None, _) => Err(SearchError::Malformed),
            (Some(b'%'), Some(_)) => Ok(p + 2),
            (Some(b'['), next) => {
                let mut at = p + 1 + usize::from(next == Some(b'^'));
                loop {
                    let escaped = self.pat(at).ok_or(SearchError::Malformed)? == b'%';
                    at += 1 + usize::from(escaped && at + 1 < self.pattern.len());
                    if self.pat(at) == Some(b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    fn single(&mut self, s: usize, p: usize, end: usize) -> bool {
        let Some(&byte) = self.text.get(s) else {
            return false;
        };
        self.read(end - p);
        match self.pattern[p] {
            b'.' => true,
            b'%' => in_class(byte, self.pattern[p + 1]),
            b'[' => self.in_set(byte, p, end - 1),
            literal => literal == byte,
        }
    }

    /// Returns whether `byte` is in the set that begins at `p` and whose `]` is at `close`.
    fn in_set(&self, byte: u8, mut p: usize, close: usize) -> bool {
        let negated = self.pattern[p + 1] == b'^';
        p += 1 + usize::from(negated);
        while p < close {
            let found = match self.pattern[p] {
                b'%' => {
                    p += 1;
                    in_class(byte, self.pattern[p])
                }
                low if self.pattern[p + 1] == b'-' && p + 2 < close => {
                    p += 2;
                    (low..=self.pattern[p]).contains(&byte)
                }
                literal => literal == byte,
            };
            if found {
                return !negated;
            }
            p += 1;
        }
        negated
    }
}

fn in_class(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is != class.is_ascii_uppercase()
}

#[cfg(test)]
mod tests;
