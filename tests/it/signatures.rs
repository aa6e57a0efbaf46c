//! Signatures that plans make by private keys, checked by OpenSSL.
//!
//! Needs the command `openssl` and is skipped with a message where that is missing.

use crate::program::{Lgoose, plan};
use crate::skipping::skip;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::path::{Path, PathBuf};
use std::process::Command;

const TEXT: &str = "eyJhbGciOiJub25lIn0.e30";

/// Runs `openssl` in a folder; `None` if there is none.
fn openssl(folder: &Path, arguments: &[&str]) -> Option<bool> {
    let mut command = Command::new("openssl");
    let output = command.args(arguments).current_dir(folder).output().ok()?;
    Some(output.status.success())
}

/// Returns the bytes that a plan prints as base64 of the signature of [`TEXT`].
fn signature(algorithm: &str, key: &Path) -> Vec<u8> {
    let key = std::fs::read_to_string(key).expect("openssl has written it");
    let text = format!(
        "local key = [[{key}]]\nprint('signature ' .. base64.encode(hash.sign('{algorithm}', key, '{TEXT}')))\n\
         task {{ function(user) user:wait(0) end }}"
    );
    let path = plan(&format!("signs_{algorithm}.lua"), &text);
    let ended = Lgoose::new(["check", &path]).finish();
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let found = printed.split("signature ").nth(1);
    let found = found.and_then(|rest| rest.split_whitespace().next());
    let found = found.unwrap_or_else(|| panic!("{printed}"));
    BASE64.decode(found).expect("base64")
}

/// Returns a signature of ECDSA, which tokens have as two numbers side by side, as DER (RFC 3279, section 2.2.3).
fn as_der(signature: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(0);
        let mut number = bytes[start..].to_vec();
        if number[0] >= 0x80 {
            number.insert(0, 0);
        }
        [vec![2, number.len() as u8], number].concat()
    };
    let (r, s) = signature.split_at(signature.len() / 2);
    let both = [number(r), number(s)].concat();
    [vec![0x30, both.len() as u8], both].concat()
}

#[test]
fn openssl_accepts_what_plans_sign() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("signatures");
    std::fs::create_dir_all(&folder).expect("a folder");
    let rsa = [
        "genpkey",
        "-algorithm",
        "RSA",
        "-pkeyopt",
        "rsa_keygen_bits:2048",
        "-out",
        "rsa.pem",
    ];
    if openssl(&folder, &rsa).is_none() {
        return skip("signatures by private keys", "the command openssl");
    }
    for (curve, file) in [("P-256", "p256.pem"), ("P-384", "p384.pem")] {
        let option = format!("ec_paramgen_curve:{curve}");
        let made = openssl(
            &folder,
            &[
                "genpkey",
                "-algorithm",
                "EC",
                "-pkeyopt",
                &option,
                "-out",
                file,
            ],
        );
        assert_eq!(made, Some(true), "{curve}");
    }
    std::fs::write(folder.join("text"), TEXT).expect("written");
    for (algorithm, key, digest, padding) in [
        ("RS256", "rsa.pem", "-sha256", "pkcs1"),
        ("RS512", "rsa.pem", "-sha512", "pkcs1"),
        ("PS256", "rsa.pem", "-sha256", "pss"),
        ("ES256", "p256.pem", "-sha256", ""),
        ("ES384", "p384.pem", "-sha384", ""),
    ] {
        let mut signed = signature(algorithm, &folder.join(key));
        if padding.is_empty() {
            signed = as_der(&signed);
        }
        std::fs::write(folder.join("signature"), &signed).expect("written");
        let public = openssl(
            &folder,
            &["pkey", "-in", key, "-pubout", "-out", "public.pem"],
        );
        assert_eq!(public, Some(true), "{algorithm}");
        let padded = format!("rsa_padding_mode:{padding}");
        let mut arguments = vec![
            "dgst",
            digest,
            "-verify",
            "public.pem",
            "-signature",
            "signature",
        ];
        if !padding.is_empty() {
            arguments.extend(["-sigopt", &padded]);
        }
        arguments.push("text");
        assert_eq!(openssl(&folder, &arguments), Some(true), "{algorithm}");
        std::fs::write(folder.join("signature"), [&signed[1..], &[0]].concat()).expect("written");
        assert_eq!(
            openssl(&folder, &arguments),
            Some(false),
            "{algorithm}: a wrong one is refused"
        );
    }
}
