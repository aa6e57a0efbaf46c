//! The shop's authorization server (OAuth 2): an endpoint for tokens with the usual grants, and one that gives a code to who is
//! logged in. Codes and refresh tokens are access tokens with a mark, so nothing is kept.

use super::accounts::{self, Accounts, Customer};
use crate::fields::FormFields;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The only address that codes are sent to.
pub(super) const REDIRECT_URI: &str = "https://app.example/callback";

/// The mark of a refresh token.
const REFRESH: &str = "refresh~";
/// The mark between a code and the challenge of its client (RFC 7636).
const CHALLENGE: char = '~';

/// Returns the address that a code for that customer is sent to; `None` if the request names another one.
pub(super) fn authorize(
    accounts: &Accounts,
    customer: Customer,
    fields: &FormFields,
) -> Option<String> {
    if fields.get("redirect_uri") != REDIRECT_URI || fields.get("response_type") != "code" {
        return None;
    }
    let code = accounts.token(&customer);
    let code = format!("{code}{CHALLENGE}{}", fields.get("code_challenge"));
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("code", &code);
    if fields.has("state") {
        query.append_pair("state", fields.get("state"));
    }
    Some(format!("{REDIRECT_URI}?{}", query.finish()))
}

/// Returns the tokens for a grant, or the error code of RFC 6749, section 5.2.
pub(super) fn grant(
    accounts: &Accounts,
    authorization: &str,
    fields: &FormFields,
) -> Result<Value, &'static str> {
    let customer = match fields.get("grant_type") {
        "client_credentials" => {
            let (id, secret) = (fields.get("client_id"), fields.get("client_secret"));
            let client = accounts::basic(authorization).or_else(|| accounts::check(id, secret));
            client.ok_or("invalid_client")?
        }
        "password" => accounts::check(fields.get("username"), fields.get("password"))
            .ok_or("invalid_grant")?,
        "refresh_token" => {
            let token = fields.get("refresh_token").strip_prefix(REFRESH);
            let customer = token.and_then(|token| accounts.customer(token));
            customer.ok_or("invalid_grant")?
        }
        "authorization_code" => redeem(accounts, fields.get("code"), fields.get("code_verifier"))
            .ok_or("invalid_grant")?,
        _ => return Err("unsupported_grant_type"),
    };
    Ok(json!({
        "access_token": accounts.token(&customer),
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_token": format!("{REFRESH}{}", accounts.token(&customer)),
    }))
}

/// Returns the customer of a code, if the verifier fits the challenge that came with its request.
fn redeem(accounts: &Accounts, code: &str, verifier: &str) -> Option<Customer> {
    let (token, challenge) = code.split_once(CHALLENGE)?;
    let expected = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let fits = challenge.is_empty() || challenge == expected;
    fits.then(|| accounts.customer(token)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> FormFields {
        FormFields::parse(text.as_bytes())
    }

    #[test]
    fn each_grant_gives_the_tokens_of_its_customer() {
        let accounts = Accounts::new();
        let customer_of = |tokens: &Value| accounts.customer(tokens["access_token"].as_str()?);
        let grant = |authorization, text: &str| grant(&accounts, authorization, &fields(text));
        let client = "grant_type=client_credentials&client_id=user7&client_secret=12345";
        let by_client = grant("", client).expect("the secret is right");
        assert_eq!(customer_of(&by_client), Some(Customer(7)));
        // user7:12345
        let basic = grant("Basic dXNlcjc6MTIzNDU=", "grant_type=client_credentials");
        assert_eq!(customer_of(&basic.expect("it is right")), Some(Customer(7)));
        let user = grant("", "grant_type=password&username=user8&password=12345");
        let user = user.expect("the password is right");
        let refresh = user["refresh_token"].as_str().expect("it is a text");
        let again = grant(
            "",
            &format!("grant_type=refresh_token&refresh_token={refresh}"),
        );
        assert_eq!(
            customer_of(&again.expect("it was issued")),
            Some(Customer(8))
        );
    }

    #[test]
    fn what_was_not_issued_gives_the_errors_of_the_standard() {
        let accounts = Accounts::new();
        for (text, error) in [
            ("grant_type=client_credentials", "invalid_client"),
            (
                "grant_type=password&username=user7&password=x",
                "invalid_grant",
            ),
            ("grant_type=refresh_token&refresh_token=7", "invalid_grant"),
            ("grant_type=authorization_code&code=7", "invalid_grant"),
            ("grant_type=magic", "unsupported_grant_type"),
            ("", "unsupported_grant_type"),
        ] {
            assert_eq!(grant(&accounts, "", &fields(text)), Err(error), "{text}");
        }
    }

    #[test]
    fn a_code_is_redeemed_by_the_verifier_of_its_challenge_alone() {
        let accounts = Accounts::new();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest("a verifier"));
        let request = format!(
            "response_type=code&redirect_uri=https://app.example/callback&state=s&code_challenge={challenge}"
        );
        let address = authorize(&accounts, Customer(7), &fields(&request)).expect("it is allowed");
        let (_, query) = address.split_once('?').expect("there is a query");
        let query = fields(query);
        assert_eq!(query.get("state"), "s");
        let code = query.get("code");
        assert_eq!(redeem(&accounts, code, "a verifier"), Some(Customer(7)));
        assert_eq!(redeem(&accounts, code, "another"), None);
        let elsewhere = "response_type=code&redirect_uri=https://evil.example/";
        assert_eq!(authorize(&accounts, Customer(7), &fields(elsewhere)), None);
    }
}
