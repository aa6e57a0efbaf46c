//! The wire format of Protocol Buffers: keys, numbers and lengths. Knows no descriptors.

/// The encodings of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireType {
    Varint,
    Fixed64,
    Bytes,
    StartGroup,
    EndGroup,
    Fixed32,
}

impl WireType {
    fn number(self) -> u32 {
        match self {
            WireType::Varint => 0,
            WireType::Fixed64 => 1,
            WireType::Bytes => 2,
            WireType::StartGroup => 3,
            WireType::EndGroup => 4,
            WireType::Fixed32 => 5,
        }
    }
}

/// Bytes that are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads values one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireReader<'a>(pub(super) &'a [u8]);

impl<'a> WireReader<'a> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Reads the number and the wire type of a field.
    pub(super) fn key(&mut self) -> Result<(u32, WireType), Malformed> {
        let key = self.varint()?;
        let key = u32::try_from(key).map_err(|_| Malformed)?;
        let kind = match key & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Bytes,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return Err(Malformed),
        };
        match key >> 3 {
            0 => Err(Malformed),
            number => Ok((number, kind)),
        }
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for (place, byte) in self.0.iter().take(10).enumerate() {
            if place == 9 && *byte > 1 {
                return Err(Malformed);
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.0 = &self.0[place + 1..];
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    pub(super) fn fixed32(&mut self) -> Result<u32, Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// Reads bytes after their length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads the content of a group, up to its end.
    pub(super) fn group(&mut self, number: u32, deepest: u32) -> Result<&'a [u8], Malformed> {
        let start = self.0;
        loop {
            let before = self.0.len();
            let (key, kind) = self.key()?;
            if kind == WireType::EndGroup {
                let length = start.len() - before;
                return (key == number).then(|| &start[..length]).ok_or(Malformed);
            }
            self.skip(key, kind, deepest)?;
        }
    }

    /// Skips a value.
    pub(super) fn skip(
        &mut self,
        number: u32,
        kind: WireType,
        deepest: u32,
    ) -> Result<(), Malformed> {
        match kind {
            WireType::Varint => self.varint().map(|_| ()),
            WireType::Fixed64 => self.fixed64().map(|_| ()),
            WireType::Fixed32 => self.fixed32().map(|_| ()),
            WireType::Bytes => self.bytes().map(|_| ()),
            WireType::StartGroup if deepest > 0 => self.group(number, deepest - 1).map(|_| ()),
            WireType::StartGroup | WireType::EndGroup => Err(Malformed),
        }
    }
}

/// Appends a number in as few bytes as it needs.
pub(super) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn write_key(out: &mut Vec<u8>, number: u32, kind: WireType) {
    write_varint(out, u64::from(number << 3 | kind.number()));
}

pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Maps signed numbers so that those near zero are short.
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
