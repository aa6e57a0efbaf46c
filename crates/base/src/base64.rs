//! Base64 (RFC 4648) that is read with and without padding, since what others send comes either way. It is written with padding.

use base64::alphabet::{self, Alphabet};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Base64 of the standard alphabet.
pub const BASE64: GeneralPurpose = lenient(&alphabet::STANDARD);

/// Base64 of the URL-safe alphabet.
pub const BASE64_URL: GeneralPurpose = lenient(&alphabet::URL_SAFE);

const fn lenient(alphabet: &Alphabet) -> GeneralPurpose {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}
