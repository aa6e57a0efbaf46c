//! Values packed for another process or for a file: postcard, deflated.

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::io::{Read as _, Write as _};

/// Packs a value behind those bytes.
pub fn pack(head: Vec<u8>, value: &impl Serialize) -> Vec<u8> {
    let plain = postcard::to_stdvec(value).expect("memory takes what is written");
    let mut encoder = DeflateEncoder::new(head, Compression::fast());
    let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

/// Unpacks the value of the bytes that [`pack`] made, without their head; it may take that many bytes at most.
///
/// # Errors
/// Bytes that are not such a value, or too many.
pub fn unpack<T: DeserializeOwned>(
    bytes: &[u8],
    most: u64,
) -> Result<T, Box<dyn Error + Send + Sync>> {
    let mut plain = Vec::new();
    let mut decoder = DeflateDecoder::new(bytes).take(most + 1);
    decoder.read_to_end(&mut plain)?;
    if plain.len() as u64 > most {
        return Err("they are too long".into());
    }
    Ok(postcard::from_bytes(&plain)?)
}
