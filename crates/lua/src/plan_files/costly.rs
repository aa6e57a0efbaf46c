//! Words of a Lua text that its compiler may look at again for each further one: 300,000 times 'and' in one expression
//! take a minute, in which nothing can end it. A file may have only so many of them.

/// The most words that jump or are jumped to. Lua takes a second for those of one expression.
const MOST_JUMPS: usize = 1 << 15;

/// The most long numbers. Lua takes four seconds for them if they are chosen to collide in the list of constants.
const MOST_NUMBERS: usize = 1 << 16;

/// The bytes of a number that counts as long. There are not enough shorter ones that collide.
const LONG_NUMBER: usize = 6;

/// Checks that a text can be compiled in a few seconds.
///
/// # Errors
/// The excessive words, and the remedy.
pub(crate) fn check(text: &str) -> Result<(), (String, &'static str)> {
    let found = count(text.as_bytes());
    if found.jumps > MOST_JUMPS {
        let problem = format!(
            "the file has {} of the words 'and', 'or', 'elseif', 'goto', 'break' and '::', and may have {MOST_JUMPS}",
            found.jumps
        );
        let help = "split it into modules, which 'require' loads; move data into a file that data.json or data.csv reads";
        return Err((problem, help));
    }
    if found.numbers > MOST_NUMBERS {
        let problem = format!(
            "the file has {} numbers of {LONG_NUMBER} digits or more, and may have {MOST_NUMBERS}",
            found.numbers
        );
        return Err((
            problem,
            "move them into a file that data.json or data.csv reads",
        ));
    }
    Ok(())
}

#[derive(Debug, Default, PartialEq)]
struct TokenCounts {
    jumps: usize,
    numbers: usize,
}

/// Counts the words of a text as Lua reads it. Text behind a place where Lua would stop does not matter.
fn count(text: &[u8]) -> TokenCounts {
    let mut counts = TokenCounts::default();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let length = match first {
            b'-' if rest.starts_with(b"--") => 2 + comment_length(&rest[2..]),
            b'[' => long_length(rest).unwrap_or(1),
            b'"' | b'\'' => quoted_length(rest),
            b':' if rest.starts_with(b"::") => {
                counts.jumps += 1;
                2
            }
            b'0'..=b'9' => {
                let length = number_length(rest);
                counts.numbers += usize::from(length >= LONG_NUMBER);
                length
            }
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => {
                let length = number_length(rest);
                counts.numbers += usize::from(length >= LONG_NUMBER);
                length
            }
            _ if is_name(first) => {
                let length = length_while(rest, is_name);
                counts.jumps += usize::from(is_jump(&rest[..length]));
                length
            }
            _ => 1,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    counts
}

fn is_jump(word: &[u8]) -> bool {
    matches!(word, b"and" | b"or" | b"elseif" | b"goto" | b"break")
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn length_while(text: &[u8], holds: impl Fn(u8) -> bool) -> usize {
    let end = text.iter().position(|byte| !holds(*byte));
    end.unwrap_or(text.len())
}

/// Returns the length of the comment after `--`.
fn comment_length(rest: &[u8]) -> usize {
    long_length(rest).unwrap_or_else(|| length_while(rest, |byte| !matches!(byte, b'\n' | b'\r')))
}

/// Returns the length of `[[…]]` or `[=[…]=]` at the beginning of a text; `None` if there is none.
fn long_length(rest: &[u8]) -> Option<usize> {
    let inside = rest.strip_prefix(b"[")?;
    let level = length_while(inside, |byte| byte == b'=');
    (inside.get(level) == Some(&b'[')).then_some(())?;
    let close = [&b"]"[..], &inside[..level], b"]"].concat();
    let end = memchr::memmem::find(&inside[level..], &close);
    Some(end.map_or(rest.len(), |at| 1 + level + at + close.len()))
}

/// Returns the length of a text in quotes. It ends at its line's end if nothing closes it, where Lua stops.
fn quoted_length(rest: &[u8]) -> usize {
    let (quote, mut at) = (rest[0], 1);
    while let Some(&byte) = rest.get(at) {
        at += match byte {
            b'\n' | b'\r' => return at,
            _ if byte == quote => return at + 1,
            b'\\' => match rest.get(at + 1..).unwrap_or_default() {
                [b'z', space @ ..] => 2 + length_while(space, |byte| matches!(byte, b' ' | 9..=13)),
                [b'\r', b'\n', ..] | [b'\n', b'\r', ..] => 3,
                _ => 2,
            },
            _ => 1,
        };
    }
    rest.len()
}

/// Returns the length of a number as Lua takes it, be it one or not.
fn number_length(rest: &[u8]) -> usize {
    let mut before = 0;
    let holds = |(_, byte): &(usize, &u8)| {
        let sign = matches!(**byte, b'+' | b'-') && matches!(before, b'e' | b'E' | b'p' | b'P');
        before = **byte;
        !(is_name(**byte) || **byte == b'.' || sign)
    };
    rest.iter()
        .enumerate()
        .find(holds)
        .map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_where_lua_reads_code() {
        for (text, jumps, numbers) in [
            ("return a and b or c", 2, 0),
            ("if a then elseif b then end while a do break end", 2, 0),
            ("goto x ::x::", 3, 0),
            ("a.band = land s:find(':')", 0, 0),
            ("'and' \"or\" [[ and ]] [=[ and ]] or ]=] -- and", 0, 0),
            ("--[[ and\nor ]] and --\r and -- x\n and", 3, 0),
            ("'\\z \n and' or 'a\\'and' or 'a\\\r\nand'", 2, 0),
            ("x = 12345 + 123456 + 0x1234 + 1e+100 + .12345 .. 1", 0, 4),
            ("[==x and y", 1, 0),
            ("'and", 0, 0),
        ] {
            assert_eq!(
                count(text.as_bytes()),
                TokenCounts { jumps, numbers },
                "{text}"
            );
        }
    }

    #[test]
    fn a_file_of_more_than_lua_compiles_soon_is_refused() {
        let chain = |length: usize| format!("local a return a{}", " and a".repeat(length));
        assert!(check(&chain(MOST_JUMPS)).is_ok());
        let (problem, _) = check(&chain(MOST_JUMPS + 1)).expect_err("too long");
        assert!(problem.contains("the file has 32769 of"), "{problem}");
        let numbers = "123456,".repeat(MOST_NUMBERS + 1);
        assert!(check(&format!("return {{{numbers}}}")).is_err());
        let texts = "'and or',".repeat(MOST_JUMPS);
        assert!(check(&format!("return {{{texts}}}")).is_ok());
    }
}
