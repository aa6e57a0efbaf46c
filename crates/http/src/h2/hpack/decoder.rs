//! Decoder of the head blocks that a server sends.

use super::huffman;
use super::table::{DynamicTable, FIELD_OVERHEAD, TABLE_SIZE};

/// A block that is not valid HPACK: from here on, this side's table differs from the server's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MalformedBlock;

/// The decoding state of one connection.
#[derive(Debug)]
pub(crate) struct HpackDecoder {
    table: DynamicTable,
    // The buffers for the strings of one field.
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Default for HpackDecoder {
    fn default() -> Self {
        HpackDecoder::with_table(TABLE_SIZE)
    }
}

impl HpackDecoder {
    fn with_table(size: usize) -> HpackDecoder {
        HpackDecoder {
            table: DynamicTable::new(size),
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Decodes a block. Calls `each` with the name and the value of each field, as long as all fields so far, with
    /// the overhead that a table adds for each, take at most `most` bytes. Returns whether all did. Fields beyond the
    /// limit are decoded, too: later blocks may refer to them.
    ///
    /// # Errors
    /// The block is malformed.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        most: usize,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, MalformedBlock> {
        let mut rest = block;
        let (mut size, mut has_started) = (0_usize, false);
        while let Some(first) = rest.first().copied() {
            if first & 0xe0 == 0x20 {
                // A new table size comes before the first field (RFC 7541, section 4.2).
                let limit = read_number(&mut rest, 5)?;
                if has_started || !self.table.resize(limit) {
                    return Err(MalformedBlock);
                }
                continue;
            }
            has_started = true;
            let field = self.field(first, &mut rest)?;
            size = size.saturating_add(field.0.len() + field.1.len() + FIELD_OVERHEAD);
            if size <= most {
                each(field.0, field.1);
            }
        }
        Ok(size <= most)
    }

    /// Decodes one field.
    fn field(&mut self, first: u8, rest: &mut &[u8]) -> Result<(&[u8], &[u8]), MalformedBlock> {
        if first & 0x80 != 0 {
            let number = read_number(rest, 7)?;
            return self.table.get(number).ok_or(MalformedBlock);
        }
        let indexed = first & 0x40 != 0;
        let number = read_number(rest, if indexed { 6 } else { 4 })?;
        self.name.clear();
        match number {
            0 => read_text(rest, &mut self.name)?,
            number => {
                let (name, _) = self.table.get(number).ok_or(MalformedBlock)?;
                self.name.extend_from_slice(name);
            }
        }
        self.value.clear();
        read_text(rest, &mut self.value)?;
        if indexed {
            self.table.add(&self.name, &self.value);
        }
        Ok((&self.name, &self.value))
    }
}

/// Reads a number that begins with the lowest `bits` bits of the first byte (RFC 7541, section 5.1).
fn read_number(rest: &mut &[u8], bits: u32) -> Result<usize, MalformedBlock> {
    let mut next = || {
        let (byte, more) = rest.split_first().ok_or(MalformedBlock)?;
        *rest = more;
        Ok(usize::from(*byte))
    };
    let most = (1 << bits) - 1;
    let mut number = next()? & most;
    if number < most {
        return Ok(number);
    }
    // Four more bytes are enough for any number that makes sense here.
    for shift in [0, 7, 14, 21] {
        let byte = next()?;
        number += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(MalformedBlock)
}

/// Reads a string and appends it to `out`.
fn read_text(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), MalformedBlock> {
    let coded = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = read_number(rest, 7)?;
    let (text, more) = rest.split_at_checked(length).ok_or(MalformedBlock)?;
    *rest = more;
    if !coded {
        out.extend_from_slice(text);
        return Ok(());
    }
    if huffman::decode(text, out) {
        Ok(())
    } else {
        Err(MalformedBlock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] << 4 | pair[1]) as u8)
            .collect()
    }

    fn fields(decoder: &mut HpackDecoder, block: &[u8]) -> Result<Vec<String>, MalformedBlock> {
        let mut fields = Vec::new();
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let whole = decoder.decode(block, usize::MAX, |name, value| {
            fields.push(format!("{}: {}", shown(name), shown(value)));
        })?;
        assert!(whole);
        Ok(fields)
    }

    #[test]
    fn the_responses_of_the_standard_are_read_with_a_table_that_overflows() {
        // RFC 7541, appendix C.6: a table of 256 bytes.
        let mut decoder = HpackDecoder::with_table(256);
        let first = bytes(
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 \
             63c7 8f0b 97c8 e9ae 82ae 43d3",
        );
        let expected = [
            ":status: 302",
            "cache-control: private",
            "date: Mon, 21 Oct 2013 20:13:21 GMT",
            "location: https://www.example.com",
        ];
        assert_eq!(
            fields(&mut decoder, &first).as_deref(),
            Ok(&expected.map(str::to_owned)[..])
        );
        let second = bytes("4883 640e ffc1 c0bf");
        let expected = expected.map(|field| field.replace("302", "307"));
        assert_eq!(fields(&mut decoder, &second).as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn strings_stand_as_they_are_or_coded_and_names_by_number() {
        // RFC 7541, appendices C.2.1 to C.2.4.
        let block = bytes(
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572 040c 2f73 616d 706c 652f 7061 7468 1008 7061 7373 776f 7264 0673 6563 7265 7482 be",
        );
        let expected = [
            "custom-key: custom-header",
            ":path: /sample/path",
            "password: secret",
            ":method: GET",
            "custom-key: custom-header",
        ];
        let mut decoder = HpackDecoder::default();
        assert_eq!(
            fields(&mut decoder, &block).as_deref(),
            Ok(&expected.map(str::to_owned)[..])
        );
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for block in [
            "80",
            "be",
            "ff",
            "ffff ffff ffff",
            "0001 61",
            "0081 00",
            "3fe2 1f",
            "82 20",
            "00",
            "4f",
        ] {
            let ended = fields(&mut HpackDecoder::default(), &bytes(block));
            assert_eq!(ended, Err(MalformedBlock), "{block}");
        }
        assert_eq!(
            fields(&mut HpackDecoder::default(), &bytes("20 82")).map(|fields| fields.len()),
            Ok(1)
        );
    }

    #[test]
    fn fields_beyond_the_limit_are_only_remembered() {
        let mut decoder = HpackDecoder::default();
        let mut seen = 0;
        let block = bytes("8240 0161 0162");
        assert_eq!(decoder.decode(&block, 50, |_, _| seen += 1), Ok(false));
        assert_eq!(seen, 1);
        let decoded = fields(&mut decoder, &bytes("be"));
        assert_eq!(decoded.as_deref(), Ok(&["a: b".to_owned()][..]));
    }
}
