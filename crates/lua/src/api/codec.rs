//! `url`, `base64`, `base32`, `hex` and `hash`: encodings and digests of texts.

use super::function::function;
use super::signing;
use crate::sandbox::VmHost;
use crate::values::{describe_mismatch, encode_form, escape_invalid, shorten};
use base64::engine::GeneralPurpose;
use base64::{DecodeError, Engine as _};
use data_encoding::{
    BASE32, BASE32_NOPAD_NOCASE, DecodeKind, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE,
};
use hmac::digest::block_api::EagerHash;
use hmac::{Hmac, KeyInit as _, Mac as _};
use lgoose_base::base64::BASE64;
use lgoose_base::error::masked_address;
use md5::Md5;
use mlua::{Function, Lua, LuaString, Table, Value};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use std::num::NonZeroU32;
use url::Url;

/// URL-safe base64 without padding, as in a JSON Web Token (RFC 4648, section 5).
const BASE64_URL: GeneralPurpose = base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Creates `url`.
pub(super) fn url(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let encode = |lua: &Lua, value: Value| match &value {
        Value::Table(_) => {
            let mut budget = VmHost::of(lua).budget(lua);
            encode_form(&value, "url.encode", &mut budget).map_err(mlua::Error::runtime)
        }
        value => {
            let mut budget = VmHost::of(lua).budget(lua);
            let text = crate::values::read_scalar(value, "url.encode(text): the text");
            text.and_then(|text| {
                budget.take(text.len().saturating_mul(3))?;
                Ok(percent_encoded(&text))
            })
            .map_err(mlua::Error::runtime)
        }
    };
    library.raw_set("encode", function(lua, encode)?)?;
    let decode = |lua: &Lua, text: LuaString| {
        let text = text.as_bytes();
        take(lua, text.len())?;
        lua.create_string(percent_decoded(&text))
    };
    library.raw_set("decode", function(lua, decode)?)?;
    let join = |lua: &Lua, (base, link): (String, String)| {
        // Each byte may become three, and both are put together more than once.
        let most = base.len().saturating_add(link.len()).saturating_mul(8);
        let mut budget = VmHost::of(lua).budget(lua);
        budget.take(most).map_err(mlua::Error::runtime)?;
        joined(&base, &link).map_err(mlua::Error::runtime)
    };
    library.raw_set("join", function(lua, join)?)?;
    library.raw_set("parse", function(lua, parse)?)?;
    let query = |lua: &Lua, query: LuaString| {
        let query = query.as_bytes();
        take(lua, query.len().saturating_mul(2))?;
        query_fields(lua, query.strip_prefix(b"?").unwrap_or(&query))
    };
    library.raw_set("query", function(lua, query)?)?;
    Ok(library)
}

/// `url.parse(text)`: the parts of a URL; those that it does not have are nil.
fn parse(lua: &Lua, text: LuaString) -> mlua::Result<Table> {
    take(lua, text.as_bytes().len().saturating_mul(8))?;
    let text = escape_invalid(&text);
    let url = Url::parse(&text).map_err(|error| {
        let what = shorten(&masked_address(&text));
        mlua::Error::runtime(format!("url.parse(text): '{what}' is not a URL: {error}"))
    })?;
    let parts = lua.create_table()?;
    parts.raw_set("scheme", url.scheme())?;
    parts.raw_set("host", url.host_str())?;
    parts.raw_set("port", url.port_or_known_default())?;
    parts.raw_set("path", url.path())?;
    parts.raw_set("fragment", url.fragment())?;
    parts.raw_set(
        "query",
        query_fields(lua, url.query().unwrap_or_default().as_bytes())?,
    )?;
    let decoded = |text: &str| lua.create_string(percent_decoded(text.as_bytes()));
    let user = Some(url.username()).filter(|user| !user.is_empty());
    parts.raw_set("user", user.map(decoded).transpose()?)?;
    parts.raw_set("password", url.password().map(decoded).transpose()?)?;
    Ok(parts)
}

/// Returns the fields of a query by their names; one that occurs several times is a list.
fn query_fields(lua: &Lua, query: &[u8]) -> mlua::Result<Table> {
    let fields = lua.create_table()?;
    for (name, value) in url::form_urlencoded::parse(query) {
        let value = lua.create_string(&*value)?;
        match fields.raw_get::<Value>(&*name)? {
            Value::Nil => fields.raw_set(&*name, value)?,
            Value::Table(list) => list.raw_push(value)?,
            first => fields.raw_set(
                &*name,
                lua.create_sequence_from([first, Value::String(value)])?,
            )?,
        }
    }
    Ok(fields)
}

/// Takes memory for the result of a call, before it is allocated.
fn take(lua: &Lua, bytes: usize) -> mlua::Result<()> {
    let taken = VmHost::of(lua).budget(lua).take(bytes);
    taken.map_err(mlua::Error::runtime)
}

/// Creates `base64`.
pub(super) fn base64(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let encoded = |lua: &Lua, engine: &GeneralPurpose, text: &[u8]| {
        take(lua, text.len().div_ceil(3) * 4)?;
        Ok(engine.encode(text))
    };
    let encode = move |lua: &Lua, (text, kind): (LuaString, Value)| match &kind {
        Value::Nil => encoded(lua, &BASE64, &text.as_bytes()),
        Value::String(kind) if *kind == "url" => encoded(lua, &BASE64_URL, &text.as_bytes()),
        Value::String(kind) => Err(mlua::Error::runtime(format!(
            "base64.encode(bytes, alphabet): the alphabet is \"url\" or left out, not \"{}\"",
            shorten(&escape_invalid(kind))
        ))),
        other => Err(mlua::Error::runtime(describe_mismatch(
            "base64.encode(bytes, alphabet): the alphabet",
            "\"url\" or left out",
            other,
        ))),
    };
    library.raw_set("encode", function(lua, encode)?)?;
    let decode = |lua: &Lua, text: LuaString| {
        let text = text.as_bytes();
        // A copy without white space, and the decoded bytes.
        take(lua, text.len().saturating_mul(2))?;
        let bytes = base64_decoded(&text).map_err(mlua::Error::runtime)?;
        lua.create_string(bytes)
    };
    library.raw_set("decode", function(lua, decode)?)?;
    Ok(library)
}

/// Creates `hash`.
pub(super) fn hash(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set("md5", digest::<Md5>(lua)?)?;
    library.raw_set("sha1", digest::<Sha1>(lua)?)?;
    library.raw_set("sha256", digest::<Sha256>(lua)?)?;
    library.raw_set("sha384", digest::<Sha384>(lua)?)?;
    library.raw_set("sha512", digest::<Sha512>(lua)?)?;
    library.raw_set("hmac_sha1", hmac_with::<Sha1>(lua)?)?;
    library.raw_set("hmac_sha256", hmac_with::<Sha256>(lua)?)?;
    library.raw_set("hmac_sha384", hmac_with::<Sha384>(lua)?)?;
    library.raw_set("hmac_sha512", hmac_with::<Sha512>(lua)?)?;
    library.raw_set("pbkdf2", function(lua, pbkdf2)?)?;
    library.raw_set("sign", function(lua, signing::sign)?)?;
    Ok(library)
}

/// Creates a function that returns the digest of a text.
fn digest<D: md5::Digest>(lua: &Lua) -> mlua::Result<Function> {
    function(lua, |lua, (text, form): (LuaString, Value)| {
        formed(lua, &D::digest(&*text.as_bytes()), &form)
    })
}

/// `hash.pbkdf2(password, salt, iterations, form, algorithm)`: derives a key (RFC 8018, section 5.2) that is as long as the
/// digest.
fn pbkdf2(
    lua: &Lua,
    (password, salt, iterations, form, algorithm): (LuaString, LuaString, i64, Value, Value),
) -> mlua::Result<LuaString> {
    /// A second or so; what is stored has less.
    const MOST: u32 = 2_000_000;
    /// The work of an iteration, in bytes.
    const ITERATION: u64 = 256;
    let count = u32::try_from(iterations)
        .ok()
        .filter(|count| *count <= MOST);
    let count = count.and_then(NonZeroU32::new).ok_or_else(|| {
        mlua::Error::runtime(format!(
            "hash.pbkdf2: the number of iterations is from 1 to {MOST}, not {iterations}"
        ))
    })?;
    let name = match &algorithm {
        Value::Nil => "sha256".to_owned(),
        Value::String(name) => escape_invalid(name),
        _ => String::new(),
    };
    let (algorithm, length) = match name.as_str() {
        "sha1" => (ring::pbkdf2::PBKDF2_HMAC_SHA1, 20),
        "sha256" => (ring::pbkdf2::PBKDF2_HMAC_SHA256, 32),
        "sha384" => (ring::pbkdf2::PBKDF2_HMAC_SHA384, 48),
        "sha512" => (ring::pbkdf2::PBKDF2_HMAC_SHA512, 64),
        _ => {
            let problem =
                "hash.pbkdf2: the algorithm is \"sha1\", \"sha256\", \"sha384\" or \"sha512\"";
            return Err(mlua::Error::runtime(problem));
        }
    };
    let limits = &VmHost::of(lua).limits;
    limits.spend(lua, u64::from(count.get()) * ITERATION)?;
    let mut key = vec![0; length];
    let (salt, password) = (salt.as_bytes(), password.as_bytes());
    ring::pbkdf2::derive(algorithm, count, &salt, &password, &mut key);
    formed(lua, &key, &form)
}

/// Creates a function that returns the HMAC (RFC 2104) of a key and a text.
fn hmac_with<D: EagerHash>(lua: &Lua) -> mlua::Result<Function> {
    function(
        lua,
        |lua, (key, text, form): (LuaString, LuaString, Value)| {
            let mut hmac = Hmac::<D>::new_from_slice(&key.as_bytes())
                .expect("a key for HMAC may have any length");
            hmac.update(&text.as_bytes());
            formed(lua, &hmac.finalize().into_bytes(), &form)
        },
    )
}

/// Returns a digest in hexadecimal digits or, with `"raw"`, as its bytes.
fn formed(lua: &Lua, digest: &[u8], form: &Value) -> mlua::Result<LuaString> {
    match form {
        Value::Nil => lua.create_string(HEXLOWER.encode(digest)),
        Value::String(form) if *form == "raw" => lua.create_string(digest),
        other => Err(mlua::Error::runtime(describe_mismatch(
            "the form of a digest",
            "\"raw\", or left out for hexadecimal digits",
            other,
        ))),
    }
}

/// Creates `hex`.
pub(super) fn hex(lua: &Lua) -> mlua::Result<Table> {
    encoding(lua, "hexadecimal", HEXLOWER, HEXLOWER_PERMISSIVE)
}

/// Creates `base32` (RFC 4648, section 6); texts are read without padding, too.
pub(super) fn base32(lua: &Lua) -> mlua::Result<Table> {
    encoding(lua, "base32", BASE32, BASE32_NOPAD_NOCASE)
}

/// Creates a library that encodes bytes as texts, and decodes those, in any case and without padding.
fn encoding(
    lua: &Lua,
    name: &'static str,
    written: Encoding,
    read: Encoding,
) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let encode = move |lua: &Lua, bytes: LuaString| {
        let bytes = bytes.as_bytes();
        take(lua, bytes.len().saturating_mul(2))?;
        lua.create_string(written.encode(&bytes))
    };
    library.raw_set("encode", function(lua, encode)?)?;
    let decode = move |lua: &Lua, text: LuaString| {
        let text = text.as_bytes();
        take(lua, text.len().saturating_mul(2))?;
        let plain = text
            .iter()
            .filter(|byte| !byte.is_ascii_whitespace() && **byte != b'=');
        let plain: Vec<u8> = plain.copied().collect();
        let bytes = read.decode(&plain).map_err(|error| {
            let byte = plain
                .get(error.position)
                .filter(|_| error.kind == DecodeKind::Symbol);
            let what = byte.map_or_else(
                || "it is cut short".to_owned(),
                |byte| format!("it contains '{}'", byte.escape_ascii()),
            );
            mlua::Error::runtime(format!("this is not {name}: {what}"))
        })?;
        lua.create_string(bytes)
    };
    library.raw_set("decode", function(lua, decode)?)?;
    Ok(library)
}

fn upper_digit(half: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(half)])
}

/// Encodes everything but the unreserved characters of RFC 3986 as `%XX`, which suits a path and a query.
fn percent_encoded(text: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                encoded.push('%');
                encoded.push(upper_digit(byte >> 4));
                encoded.push(upper_digit(byte & 15));
            }
        }
    }
    encoded
}

/// Decodes `%XX`. Anything else stays as it is, '+' too.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let digit = |place: usize| char::from(*after.get(place)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                decoded.push(first);
                rest = after;
            }
        }
    }
    decoded
}

/// Resolves a link on the page `base`, which may be a path alone.
fn joined(base: &str, link: &str) -> Result<String, String> {
    const NOWHERE: &str = "http://page.invalid";
    let fault = |what: &str, error| {
        let what = masked_address(what);
        format!("url.join(base, link): '{what}' is not a URL: {error}")
    };
    let (base, path_alone) = if base.starts_with('/') && !base.starts_with("//") {
        (Url::parse(&format!("{NOWHERE}{base}")), true)
    } else {
        (Url::parse(base), false)
    };
    let base = base.map_err(|error| fault("base", error))?;
    let url = base.join(link).map_err(|error| fault(link, error))?;
    match url.as_str().strip_prefix(NOWHERE) {
        Some(path) if path_alone => Ok(path.to_owned()),
        _ => Ok(url.into()),
    }
}

/// Decodes standard or URL-safe base64, padded or not, and ignores white space.
fn base64_decoded(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut standard = Vec::with_capacity(text.len());
    let plain = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    standard.extend(plain.map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    }));
    BASE64.decode(standard).map_err(|error| match error {
        DecodeError::InvalidByte(_, byte) => {
            format!("this is not base64: it contains '{}'", byte.escape_ascii())
        }
        _ => "this is not base64: it is cut short".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_preserves_what_is_unreserved_and_is_undone() {
        let text = "a b/c?d=ü&e+f~";
        let encoded = percent_encoded(text.as_bytes());
        assert_eq!(encoded, "a%20b%2Fc%3Fd%3D%C3%BC%26e%2Bf~");
        assert_eq!(percent_decoded(encoded.as_bytes()), text.as_bytes());
        assert_eq!(percent_decoded(b"100% %2 %zz +"), b"100% %2 %zz +");
    }

    #[test]
    fn links_are_joined_to_pages_and_to_paths() {
        for (base, link, expected) in [
            ("http://a.example/x/y?q", "z", "http://a.example/x/z"),
            ("http://a.example/x", "//b.example/", "http://b.example/"),
            ("/x/y", "../z?q=1", "/z?q=1"),
            ("/x/y", "http://b.example/c", "http://b.example/c"),
        ] {
            assert_eq!(joined(base, link).as_deref(), Ok(expected));
        }
        assert!(joined("nothing", "z").is_err());
    }

    #[test]
    fn base64_is_read_in_both_alphabets_with_and_without_padding() {
        for text in ["+/8=", "-_8=", "-_8", " +/\n8 "] {
            assert_eq!(base64_decoded(text.as_bytes()), Ok(vec![0xfb, 0xff]));
        }
        assert!(base64_decoded(b"a*").is_err());
        assert_eq!(BASE64.encode([0xfb, 0xff]), "+/8=");
    }
}
