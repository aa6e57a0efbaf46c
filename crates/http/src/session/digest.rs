//! Digest authentication (RFC 7616), over `digest_auth`: keeps the challenges of sites and computes the headers of
//! requests. The first request to a site gets a 401 and is sent again; the next ones reuse the nonce.

use crate::hop::Hop;
use crate::message::{self, DigestCredentials, RawResponse};
use crate::target::{Origin, Target};
use digest_auth::{AuthContext, HttpMethod, WwwAuthenticateHeader};
use http::HeaderValue;
use std::rc::Rc;

/// The most sites whose challenges a user keeps.
const MAX_SITES: usize = 16;

/// The digest authentication of a user.
#[derive(Debug, Default)]
pub(super) struct DigestState {
    /// The credentials for all requests of the user.
    pub(super) credentials: Option<Rc<DigestCredentials>>,
    /// The latest challenge of each site.
    challenges: Vec<(Rc<Origin>, WwwAuthenticateHeader)>,
}

impl DigestState {
    /// The `Authorization` of a hop to a site, if the site's challenge is known.
    pub(super) fn authorization(
        &mut self,
        credentials: &DigestCredentials,
        target: &Target,
        hop: &Hop,
    ) -> Option<HeaderValue> {
        let matching = self
            .challenges
            .iter_mut()
            .find(|(origin, _)| origin.same(&target.origin));
        let (_, challenge) = matching?;
        let context = AuthContext::new_with_method(
            credentials.user.as_str(),
            credentials.password.as_str(),
            &*target.path,
            Some(&hop.body[..]),
            HttpMethod(hop.method.as_str().into()),
        );
        let text = challenge.respond(&context).ok()?.to_header_string();
        let mut authorization = HeaderValue::try_from(text).ok()?;
        authorization.set_sensitive(true);
        Some(authorization)
    }

    /// Keeps the challenge of a site.
    pub(super) fn remember(&mut self, target: &Target, challenge: WwwAuthenticateHeader) {
        self.challenges
            .retain(|(origin, _)| !origin.same(&target.origin));
        if self.challenges.len() == MAX_SITES {
            self.challenges.remove(0);
        }
        self.challenges.push((target.origin.clone(), challenge));
    }
}

/// The challenge of a 401 response, if it has one that can be met.
pub(super) fn challenge_of(response: &RawResponse) -> Option<WwwAuthenticateHeader> {
    let headers = message::headers(&response.bytes[..response.head.length]);
    let mut lines = headers
        .iter()
        .filter(|(name, _)| name == "www-authenticate");
    lines.find_map(|(_, value)| challenge(value))
}

/// The first supported digest challenge in a `WWW-Authenticate` line, among those of any schemes.
fn challenge(line: &[u8]) -> Option<WwwAuthenticateHeader> {
    // The parser counts characters but cuts bytes.
    let line = std::str::from_utf8(line)
        .ok()
        .filter(|line| line.is_ascii())?;
    let found = digests(line);
    found
        .iter()
        .find_map(|parameters| WwwAuthenticateHeader::parse(parameters).ok())
}

/// The parameters of each digest challenge in a line (RFC 9110, section 11.6.1), as the parser reads them.
fn digests(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_digest = false;
    for item in items(line) {
        let mut parameter = item;
        if let Some((scheme, rest)) = scheme(item) {
            is_digest = scheme.eq_ignore_ascii_case("digest");
            found.extend(is_digest.then(String::new));
            parameter = rest;
        }
        if let Some((name, value)) = parameter.split_once('=')
            && let Some(parameters) = found.last_mut().filter(|_| is_digest)
        {
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            // Without a word in it, it is as if it were not there.
            if name != "qop" || !value.trim_matches('"').trim().is_empty() {
                *parameters += &format!("{name}={value}, ");
            }
        }
    }
    found
}

/// The items of a list, which commas separate unless they are quoted.
fn items(line: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let items = line.split(move |c| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match c {
            '"' if !was_escaped => is_quoted = !is_quoted,
            '\\' if !was_escaped => is_escaped = is_quoted,
            _ => {}
        }
        c == ',' && !is_quoted
    });
    items.map(str::trim)
}

/// The scheme that an item begins with and the rest after it; `None` if it is a further parameter.
fn scheme(item: &str) -> Option<(&str, &str)> {
    let (word, rest) = item.split_once([' ', '\t']).unwrap_or((item, ""));
    let is_parameter = word.contains('=') || rest.trim_start().starts_with('=');
    (!is_parameter && !word.is_empty()).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_found_and_nonsense_is_none() {
        let found = |line: &[u8]| challenge(line).map(|challenge| challenge.nonce);
        let one = b"Digest realm=\"a\", nonce=\"n1\", qop=\"auth,auth-int\", algorithm=SHA-256";
        assert_eq!(found(one).as_deref(), Some("n1"));
        let second = b"Basic realm=\"b\", digest realm=\"a\", nonce=\"n2\"";
        assert_eq!(found(second).as_deref(), Some("n2"));
        for line in [
            "Basic realm=\"digest nonce=x\", Digest realm=\"r\", nonce=\"n\"",
            "Basic realm=\"a\\\", Digest realm=b, nonce=x\", Digest realm=\"r\", nonce=\"n\"",
            "Digest\trealm=\"r\",nonce=\"n\"",
            "DIGEST  Realm = \"r\" , , NONCE=n",
            "Negotiate, Digest nonce=n, realm=r, Basic realm=\"b\", nonce=x",
            "Digest realm=r, nonce=x, algorithm=ROT13, Digest realm=r, nonce=n",
            "Digest realm=r, nonce=n, Digest realm=r, nonce=x",
            "Digest realm=\"r\", qop=\"\", nonce=\"n\"",
        ] {
            let found = challenge(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
            let found = (found.realm.as_str(), found.nonce.as_str(), found.qop);
            assert_eq!(found, ("r", "n", None), "{line}");
        }
        for nonsense in [
            &b"Basic realm=\"b\""[..],
            b"Basic realm=\"Digest realm=a, nonce=b\"",
            b"Mydigest realm=a, nonce=b",
            b"Digest",
            b"Digest realm=\"a\"",
            b"Digest realm=\"a",
            "Digest realm=\"\u{e4}\u{e4}\u{e4}\", nonce=\u{fc}".as_bytes(),
            b"Digest \xff=\xff",
            b"Digest realm=a, nonce=b, algorithm=ROT13",
        ] {
            assert_eq!(
                found(nonsense),
                None,
                "{}",
                String::from_utf8_lossy(nonsense)
            );
        }
    }
}
