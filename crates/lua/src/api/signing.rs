//! `hash.sign`: signatures by private keys, as JSON Web Tokens have them (RFC 7518, RFC 8037).

use crate::sandbox::VmHost;
use crate::values::{escape_invalid, shorten};
use mlua::{Lua, LuaString};
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaEncoding, RsaKeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;

/// The cost of a signature, in the unit of [`VmLimits::spend`](crate::limits::VmLimits): reading a key takes some 100
/// µs, and signing with RSA a millisecond.
const WORK: u64 = 1 << 20;

/// The method of an algorithm's signatures.
#[derive(Clone, Copy)]
enum SigningMethod {
    Rsa(&'static dyn RsaEncoding),
    Ecdsa(&'static EcdsaSigningAlgorithm),
    Ed25519,
}

const UNKNOWN_ALGORITHM: &str = "unknown algorithm; there are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 and EdDSA, \
                                 and hash.hmac_sha256 for secrets";

/// Returns whether `hash.sign` knows an algorithm.
///
/// # Errors
/// The message of the run where it does not.
pub(crate) fn has_signing_algorithm(name: &str) -> Result<(), &'static str> {
    method(name).map(|_| ()).ok_or(UNKNOWN_ALGORITHM)
}

/// Returns the method of an algorithm by its name in RFC 7518.
fn method(name: &str) -> Option<SigningMethod> {
    Some(match name {
        "RS256" => SigningMethod::Rsa(&signature::RSA_PKCS1_SHA256),
        "RS384" => SigningMethod::Rsa(&signature::RSA_PKCS1_SHA384),
        "RS512" => SigningMethod::Rsa(&signature::RSA_PKCS1_SHA512),
        "PS256" => SigningMethod::Rsa(&signature::RSA_PSS_SHA256),
        "PS384" => SigningMethod::Rsa(&signature::RSA_PSS_SHA384),
        "PS512" => SigningMethod::Rsa(&signature::RSA_PSS_SHA512),
        "ES256" => SigningMethod::Ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
        "ES384" => SigningMethod::Ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
        "EdDSA" => SigningMethod::Ed25519,
        _ => return None,
    })
}

/// `hash.sign(algorithm, key, text)`: the bytes of the signature.
pub(super) fn sign(
    lua: &Lua,
    (algorithm, key, text): (LuaString, LuaString, LuaString),
) -> mlua::Result<LuaString> {
    VmHost::of(lua).limits.spend(lua, WORK)?;
    let name = escape_invalid(&algorithm);
    let signature = signed(&name, &key.as_bytes(), &text.as_bytes());
    lua.create_string(
        signature.map_err(|what| {
            mlua::Error::runtime(format!("hash.sign, {}: {what}", shorten(&name)))
        })?,
    )
}

fn signed(name: &str, key: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    let method = method(name).ok_or(UNKNOWN_ALGORITHM)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| "the key is not a private key in PEM form ('-----BEGIN PRIVATE KEY-----')")?;
    let random = SystemRandom::new();
    let unfit = |error: ring::error::KeyRejected| format!("the key does not fit: {error}");
    let failed = |_: ring::error::Unspecified| "the text cannot be signed".to_owned();
    match (method, key) {
        (SigningMethod::Rsa(encoding), key) => {
            let pair = match &key {
                PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
                key => RsaKeyPair::from_pkcs8(key.secret_der()),
            };
            let pair = pair.map_err(unfit)?;
            let mut signature = vec![0; pair.public().modulus_len()];
            let signed = pair.sign(encoding, &random, text, &mut signature);
            signed.map(|()| signature).map_err(failed)
        }
        (_, PrivateKeyDer::Sec1(_)) => Err(
            "the key is one of SEC 1; write it as PKCS #8: openssl pkcs8 -topk8 -nocrypt -in key.pem".to_owned(),
        ),
        (SigningMethod::Ecdsa(algorithm), key) => {
            let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.secret_der(), &random).map_err(unfit)?;
            let signature = pair.sign(&random, text).map_err(failed)?;
            Ok(signature.as_ref().to_vec())
        }
        (SigningMethod::Ed25519, key) => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_der()).map_err(unfit)?;
            Ok(pair.sign(text).as_ref().to_vec())
        }
    }
}
