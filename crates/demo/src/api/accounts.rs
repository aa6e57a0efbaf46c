//! The accounts of the shop: users, their password, and the tokens that they log in with. Tokens are signed and not
//! kept, so any number of logins takes no memory.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const LAST_USER: u32 = 1_000;
const PASSWORD: &str = "12345";

/// A user whose password or token was right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Customer(pub(super) u32);

impl Customer {
    pub(super) fn name(self) -> String {
        format!("user{}", self.0)
    }
}

/// The user of that name, if the password is right.
pub(super) fn check(name: &str, password: &str) -> Option<Customer> {
    let number: u32 = name.strip_prefix("user")?.parse().ok()?;
    let customer = Customer(number);
    let is_customer = (1..=LAST_USER).contains(&number) && name == customer.name();
    (is_customer && password == PASSWORD).then_some(customer)
}

/// The user of an `Authorization: Basic …`, if the password is right.
pub(super) fn basic(authorization: &str) -> Option<Customer> {
    let (scheme, encoded) = authorization.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (name, password) = pair.split_once(':')?;
    check(name, password)
}

/// The issuer of tokens, which it checks by their signature.
pub(super) struct Accounts {
    key: [u8; 32],
}

impl Accounts {
    pub(super) fn new() -> Self {
        Accounts {
            key: rand::random(),
        }
    }

    /// A new token: the user's number, a random one, and the signature of both.
    pub(super) fn token(&self, customer: &Customer) -> String {
        let claim = format!("{}.{:016x}", customer.0, rand::random::<u64>());
        let signature = self.sign(&claim).map(|hmac| hmac.finalize().into_bytes());
        let signature = signature.map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        format!("{claim}.{}", signature.unwrap_or_default())
    }

    /// The user that a token was issued to; `None` if it was not issued here.
    pub(super) fn customer(&self, token: &str) -> Option<Customer> {
        let (claim, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.sign(claim)?.verify_slice(&signature).ok()?;
        let (number, _) = claim.split_once('.')?;
        number.parse().ok().map(Customer)
    }

    /// The signature of a claim. `None` would be a key of a wrong length, which HMAC does not know.
    fn sign(&self, claim: &str) -> Option<Hmac<Sha256>> {
        let mut hmac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        hmac.update(claim.as_bytes());
        Some(hmac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_user_here_and_nowhere_else() {
        let accounts = Accounts::new();
        let token = accounts.token(&Customer(7));
        assert_eq!(accounts.customer(&token), Some(Customer(7)));
        assert_ne!(accounts.token(&Customer(7)), token);
        assert_eq!(Accounts::new().customer(&token), None);
        for forged in ["", "7", "7.0", "7.0.", &token.replacen('7', "8", 1)] {
            assert_eq!(accounts.customer(forged), None, "{forged}");
        }
    }

    #[test]
    fn only_the_right_pairs_of_name_and_password_are_accepted() {
        assert_eq!(check("user1000", PASSWORD), Some(Customer(1_000)));
        for (name, password) in [
            ("user0", PASSWORD),
            ("user1001", PASSWORD),
            ("user07", PASSWORD),
            ("user+7", PASSWORD),
            ("7", PASSWORD),
            ("user7", ""),
        ] {
            assert_eq!(check(name, password), None, "{name}");
        }
        // user7:12345
        assert_eq!(basic("Basic dXNlcjc6MTIzNDU="), Some(Customer(7)));
        assert_eq!(basic("Bearer dXNlcjc6MTIzNDU="), None);
        assert_eq!(basic("Basic %"), None);
    }
}
