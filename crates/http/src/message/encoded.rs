//! An encoded body, decoded when it is first read. Held by a `Response`.

use super::encoding::Codings;
use super::patience::DecodingTime;
use crate::failure::{ErrorClass, Failure};
use bytes::Bytes;
use std::cell::OnceCell;

/// The facts about an encoded body beside its bytes, which each reader brings.
#[derive(Debug)]
pub(super) struct EncodedBody {
    codings: Codings,
    max_body: u64,
    decoded: OnceCell<Result<Bytes, Failure>>,
}

impl EncodedBody {
    /// The body of a response with these headers; decoded, it may take up to `max_body` bytes.
    pub(super) fn of(headers: &[(String, Vec<u8>)], max_body: u64) -> EncodedBody {
        EncodedBody {
            codings: Codings::of(headers),
            max_body,
            decoded: OnceCell::new(),
        }
    }

    /// The same body, not decoded yet.
    pub(super) fn afresh(&self) -> EncodedBody {
        EncodedBody {
            codings: self.codings.clone(),
            max_body: self.max_body,
            decoded: OnceCell::new(),
        }
    }

    /// The result of decoding; `None` before.
    pub(super) fn get_decoded(&self) -> Option<&Result<Bytes, Failure>> {
        self.decoded.get()
    }

    /// The decoded body, decoded now if it has not been.
    pub(super) fn decoded(&self, body: impl FnOnce() -> Bytes) -> &Result<Bytes, Failure> {
        let decode = || {
            let patience = DecodingTime::for_bodies(self.max_body);
            self.codings.decode(&body(), self.max_body, &patience)
        };
        self.decoded.get_or_init(decode)
    }

    /// Decodes the body unless it takes more than `most_bytes` bytes. Returns whether it can be read now.
    pub(super) fn decode_within(&self, most_bytes: u64, body: impl FnOnce() -> Bytes) -> bool {
        if self.get_decoded().is_some() {
            return true;
        }
        let patience = DecodingTime::for_bodies(self.max_body);
        let most = self.max_body.min(most_bytes);
        let decoded = self.codings.decode(&body(), most, &patience);
        let too_large = matches!(&decoded, Err(failure) if failure.class == ErrorClass::TooLarge);
        if too_large && most_bytes < self.max_body {
            return false;
        }
        self.decoded.get_or_init(|| decoded);
        true
    }

    /// Decodes the body unless it takes longer than `patience` allows. Returns whether it can be read now.
    pub(super) fn decode_soon(
        &self,
        patience: &DecodingTime,
        body: impl FnOnce() -> Bytes,
    ) -> bool {
        if self.get_decoded().is_some() {
            return true;
        }
        let decoded = self.codings.decode(&body(), self.max_body, patience);
        if patience.has_ended() {
            return false;
        }
        self.decoded.get_or_init(|| decoded);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::Duration;

    #[test]
    fn a_body_that_took_too_long_to_show_can_still_be_read() {
        let headers = [("content-encoding".to_owned(), b"gzip".to_vec())];
        let encoded = EncodedBody::of(&headers, 1 << 20);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![0; 200_000]).expect("memory");
        let body: Bytes = encoder.finish().expect("memory").into();
        let soon = |limit| encoded.decode_soon(&DecodingTime::new(limit), || body.clone());
        assert!(!soon(Duration::ZERO) && encoded.get_decoded().is_none());
        assert!(soon(Duration::MAX));
        let decoded = encoded.get_decoded().expect("it is decoded");
        assert_eq!(decoded.as_ref().map(Bytes::len), Ok(200_000));
        assert!(soon(Duration::ZERO));
    }
}
