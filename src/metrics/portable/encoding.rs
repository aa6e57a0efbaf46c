//! Encodes portable deltas as a version and the packed delta, in several pieces if it would be too long for one
//! message.

use super::{PortableDelta, Slice};
use crate::error::{Error, Trouble};
use crate::packed::{pack, unpack};

/// Version of the encoding; decoding refuses any other.
const VERSION: u8 = 5;

/// The most bytes that a decoded piece may have: far more than any encoded one has, and far less than a machine's
/// memory.
const MOST_DECODED: u64 = 256 << 20;

impl PortableDelta {
    /// Encodes the delta.
    pub(crate) fn encode(&self) -> Vec<u8> {
        pack(vec![VERSION], self)
    }

    /// Decodes the bytes that [`PortableDelta::encode`] made.
    ///
    /// # Errors
    /// Trouble if the bytes are of another version or damaged.
    pub(crate) fn decode(bytes: &[u8]) -> Result<PortableDelta, Error> {
        let cannot = || Trouble::cannot("read figures that were sent");
        let (version, deflated) = bytes
            .split_first()
            .ok_or_else(|| cannot().because("nothing is there"))?;
        if *version != VERSION {
            return Err(cannot()
                .because(format!("they are of version {version} and not {VERSION}"))
                .help("use the same lgoose on both sides")
                .into());
        }
        unpack(deflated, MOST_DECODED).map_err(|error| cannot().because(error).into())
    }

    /// Encodes the delta in pieces of at most `most_bytes` each, unless a single row is longer. Each piece can be
    /// merged by itself; the last one tells up to which moment everything was handed over.
    pub(crate) fn pieces(self, most_bytes: usize) -> Vec<Vec<u8>> {
        let bytes = self.encode();
        if bytes.len() <= most_bytes {
            return vec![bytes];
        }
        match self.halves() {
            Ok((first, second)) => {
                let mut pieces = first.pieces(most_bytes);
                pieces.extend(second.pieces(most_bytes));
                pieces
            }
            Err(whole) => vec![whole.encode()],
        }
    }

    /// Splits the delta into two; returns it whole if it has only one row.
    fn halves(mut self) -> Result<(PortableDelta, PortableDelta), PortableDelta> {
        if self.slices.len() > 1 {
            let middle = *self
                .slices
                .keys()
                .nth(self.slices.len() / 2)
                .expect("it has more than one");
            let later = self.slices.split_off(&middle);
            let first = PortableDelta {
                slices: std::mem::replace(&mut self.slices, later),
                ..PortableDelta::default()
            };
            return Ok((first, self));
        }
        let Some((key, slice)) = self.slices.pop_first() else {
            return Err(self);
        };
        match slice.halves() {
            Ok((first, rest)) => {
                self.slices.insert(key, rest);
                let first = PortableDelta {
                    slices: [(key, first)].into(),
                    ..PortableDelta::default()
                };
                Ok((first, self))
            }
            Err(whole) => {
                self.slices.insert(key, *whole);
                Err(self)
            }
        }
    }
}

impl Slice {
    /// Moves half of the rows of its most numerous kind into a second slice.
    fn halves(mut self) -> Result<(Slice, Slice), Box<Slice>> {
        let mut first = Slice {
            to: self.to,
            ..Slice::default()
        };
        let rows = [
            self.requests.len(),
            self.tasks.len(),
            self.measures.len(),
            self.errors.len(),
        ];
        let most = rows.into_iter().max().unwrap_or(0);
        if most < 2 {
            return Err(Box::new(self));
        }
        if self.errors.len() == most {
            take_half(&mut self.errors, &mut first.errors);
        } else if self.requests.len() == most {
            take_half(&mut self.requests, &mut first.requests);
        } else if self.tasks.len() == most {
            take_half(&mut self.tasks, &mut first.tasks);
        } else {
            take_half(&mut self.measures, &mut first.measures);
        }
        Ok((first, self))
    }
}

fn take_half<K: Ord + Clone, V>(
    from: &mut std::collections::BTreeMap<K, V>,
    to: &mut std::collections::BTreeMap<K, V>,
) {
    let middle = from.keys().nth(from.len() / 2).cloned();
    if let Some(middle) = middle {
        let later = from.split_off(&middle);
        *to = std::mem::replace(from, later);
    }
}
