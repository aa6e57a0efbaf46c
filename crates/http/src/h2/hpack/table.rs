//! The tables of header fields to which HPACK refers by number (RFC 7541, section 2.3): a static one, and one of the
//! latest fields.

use std::collections::VecDeque;

/// The size of the dynamic table with which every peer begins, in bytes. lgoose does not request another one.
pub(super) const TABLE_SIZE: usize = 4096;
/// The bytes that a field takes in a table besides its name and value (RFC 7541, section 4.1).
pub(super) const FIELD_OVERHEAD: usize = 32;

/// The static table (RFC 7541, appendix A); its first field has number 1.
#[rustfmt::skip]
pub(super) static STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The number of the first field with that name in the static table.
pub(super) fn number_of(name: &str) -> Option<u8> {
    let place = STATIC.iter().position(|(key, _)| *key == name)?;
    Some(place as u8 + 1)
}

/// A field of the dynamic table.
#[derive(Debug)]
struct TableField {
    bytes: Box<[u8]>,
    /// The length of the name, which the value follows.
    name: usize,
}

impl TableField {
    fn size(&self) -> usize {
        self.bytes.len() + FIELD_OVERHEAD
    }
}

/// The dynamic table for one direction of a connection.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// Latest first.
    fields: VecDeque<TableField>,
    size: usize,
    limit: usize,
    /// The largest limit that the peer may set.
    most: usize,
}

impl DynamicTable {
    /// An empty table of at most `most` bytes.
    pub(super) fn new(most: usize) -> DynamicTable {
        DynamicTable {
            fields: VecDeque::new(),
            size: 0,
            limit: most,
            most,
        }
    }

    /// The field with that number in the two tables, as name and value.
    pub(super) fn get(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let place = number.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(place) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let field = self.fields.get(place - STATIC.len())?;
        Some(field.bytes.split_at(field.name))
    }

    /// Adds a field and drops older ones to make room for it; a field larger than the whole table is not kept.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        let field = TableField {
            bytes: [name, value].concat().into(),
            name: name.len(),
        };
        let size = field.size();
        self.evict(self.limit.saturating_sub(size));
        if size <= self.limit {
            self.size += size;
            self.fields.push_front(field);
        }
    }

    /// Sets the limit that the peer has chosen. Returns false if it is too large.
    pub(super) fn resize(&mut self, limit: usize) -> bool {
        if limit > self.most {
            return false;
        }
        self.limit = limit;
        self.evict(limit);
        true
    }

    /// Drops the oldest fields until the others take `most` bytes at most.
    fn evict(&mut self, most: usize) {
        while self.size > most {
            let Some(oldest) = self.fields.pop_back() else {
                return;
            };
            self.size -= oldest.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_fields_make_room_for_new_ones() {
        let mut table = DynamicTable::new(3 * (FIELD_OVERHEAD + 2));
        for value in [b"1", b"2", b"3", b"4"] {
            table.add(b"a", value);
        }
        let values = |table: &DynamicTable| {
            (62..)
                .map_while(|n| table.get(n).map(|(_, value)| value[0]))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(&table), b"432");
        assert!(table.resize(FIELD_OVERHEAD + 2));
        assert_eq!(values(&table), b"4");
        assert!(!table.resize(4 * (FIELD_OVERHEAD + 2)));
        table.add(b"a", &[0; 99]);
        assert_eq!(
            values(&table),
            b"",
            "too large for the table, it empties it"
        );
    }

    #[test]
    fn numbers_start_at_one() {
        let table = DynamicTable::new(TABLE_SIZE);
        assert_eq!(table.get(0), None);
        assert_eq!(table.get(2), Some((&b":method"[..], &b"GET"[..])));
        assert_eq!(table.get(61), Some((&b"www-authenticate"[..], &b""[..])));
        assert_eq!(table.get(62), None);
        assert_eq!(number_of("cookie"), Some(32));
        assert_eq!(number_of("x-own"), None);
    }
}
