//! The Huffman code of HPACK (RFC 7541, appendix B). The code is canonical, so the lengths of the codes determine it;
//! decoding looks for the length of each code first.

/// The length of each symbol's code in bits. The last symbol is the end of a string, which no string may contain.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
    8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
    13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
    28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
    22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
    22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
    25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30
];

/// The symbol for the end of a string.
const END: u16 = 256;

/// The codes of one length.
#[derive(Clone, Copy)]
struct HuffmanLevel {
    bits: u32,
    /// The first code beyond this length, in the top bits of 32; the largest number for the longest codes.
    limit: u32,
    /// The first code of this length, in the top bits of 32.
    first: u32,
    /// The index of its symbol in `SYMBOLS`.
    index: u16,
}

/// The number of different lengths.
const LEVEL_COUNT: usize = levels_of_lengths();
/// The symbols in the order of their codes.
static SYMBOLS: [u16; 257] = symbols();
/// The lengths that codes have, shortest first.
static LEVELS: [HuffmanLevel; LEVEL_COUNT] = levels();

const fn count_of(bits: u32) -> u16 {
    let (mut count, mut symbol) = (0, 0);
    while symbol < LENGTHS.len() {
        if LENGTHS[symbol] as u32 == bits {
            count += 1;
        }
        symbol += 1;
    }
    count
}

const fn levels_of_lengths() -> usize {
    let (mut levels, mut bits) = (0, 1);
    while bits <= 30 {
        if count_of(bits) > 0 {
            levels += 1;
        }
        bits += 1;
    }
    levels
}

const fn symbols() -> [u16; 257] {
    let mut sorted = [0; 257];
    let (mut at, mut bits) = (0, 1);
    while bits <= 30 {
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as u32 == bits {
                sorted[at] = symbol as u16;
                at += 1;
            }
            symbol += 1;
        }
        bits += 1;
    }
    sorted
}

const fn levels() -> [HuffmanLevel; LEVEL_COUNT] {
    let none = HuffmanLevel {
        bits: 0,
        limit: 0,
        first: 0,
        index: 0,
    };
    let mut levels = [none; LEVEL_COUNT];
    let (mut at, mut index, mut first, mut bits) = (0, 0, 0_u64, 1);
    while bits <= 30 {
        let count = count_of(bits);
        if count > 0 {
            let limit = first + ((count as u64) << (32 - bits));
            levels[at] = HuffmanLevel {
                bits,
                limit: if limit > u32::MAX as u64 {
                    u32::MAX
                } else {
                    limit as u32
                },
                first: first as u32,
                index,
            };
            (at, index, first) = (at + 1, index + count, limit);
        }
        bits += 1;
    }
    levels
}

/// Appends the decoded text of `coded` to `out`. Returns false if `coded` is not valid.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> bool {
    // The unread bits, at the top; below them are ones, with which no code but the end of a string begins.
    let (mut bits, mut available) = (u64::MAX, 0_u32);
    let mut rest = coded.iter();
    loop {
        while available <= 56 {
            let Some(byte) = rest.next() else { break };
            let at = 56 - available;
            bits = (bits & !(0xff << at)) | (u64::from(*byte) << at);
            available += 8;
        }
        let top = (bits >> 32) as u32;
        let level = LEVELS.iter().find(|level| top < level.limit);
        // All ones: one of the longest codes, which is the end of a string or a symbol just before it.
        let level = level.unwrap_or(&LEVELS[LEVEL_COUNT - 1]);
        if level.bits > available {
            // The rest is padding, which must be fewer than eight bits, all of them ones.
            return available < 8 && bits == u64::MAX;
        }
        let place = usize::from(level.index) + ((top - level.first) >> (32 - level.bits)) as usize;
        let symbol = SYMBOLS[place];
        if symbol == END {
            return false;
        }
        out.push(symbol as u8);
        bits = (bits << level.bits) | ((1 << level.bits) - 1);
        available -= level.bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(coded: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        decode(coded, &mut out).then(|| String::from_utf8_lossy(&out).into_owned())
    }

    /// Encodes a text as the appendix says, with `padding` after it.
    fn code(text: &[u8], padding: u64) -> Vec<u8> {
        let mut bits = Vec::new();
        for byte in text {
            let place = SYMBOLS
                .iter()
                .position(|symbol| *symbol == u16::from(*byte));
            let place = place.expect("every byte has a code") as u32;
            let level = LEVELS
                .iter()
                .rev()
                .find(|level| u32::from(level.index) <= place);
            let level = level.expect("it has a length");
            let code = (level.first >> (32 - level.bits)) + place - u32::from(level.index);
            bits.extend((0..level.bits).rev().map(|bit| (code >> bit) & 1));
        }
        while bits.len() % 8 > 0 {
            bits.push((padding & 1) as u32);
        }
        let byte = |bits: &[u32]| bits.iter().fold(0, |byte, bit| (byte << 1) | *bit as u8);
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        // RFC 7541, appendix C.4.
        let coded = [
            0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ];
        assert_eq!(text(&coded).as_deref(), Some("www.example.com"));
        let coded = [0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf];
        assert_eq!(text(&coded).as_deref(), Some("custom-value"));
        assert_eq!(text(&[]).as_deref(), Some(""));
    }

    #[test]
    fn every_byte_is_read_as_it_was_coded() {
        let all: Vec<u8> = (0..=255).collect();
        for text in [&all[..], b"a", b"<<<", &[0xf9, 0xff, 22, 10]] {
            let mut out = Vec::new();
            assert!(decode(&code(text, 1), &mut out));
            assert_eq!(out, text);
        }
    }

    #[test]
    fn padding_is_of_ones_and_shorter_than_a_byte() {
        assert_eq!(text(&code(b"a", 0)), None);
        assert_eq!(text(&[0x1f, 0xff]), None, "eight bits more");
        assert_eq!(text(&[0xff; 4]), None, "the end of a string");
    }
}
