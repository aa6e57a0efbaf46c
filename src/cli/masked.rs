//! Values that may hold a secret. clap repeats a value that is refused: these are shown without what is secret.

use clap::builder::TypedValueParser;
use clap::{Arg, Command, error::Error};
use std::ffi::OsStr;

/// A parser of values that may hold a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaskedParser<V> {
    parse: fn(&str) -> Result<V, String>,
    show: fn(&str) -> String,
}

/// Parses a URL with `parse`, whose error does not repeat it. What may be its user and password is never shown.
pub(super) fn url<V>(parse: fn(&str) -> Result<V, String>) -> MaskedParser<V> {
    let show = without_credentials;
    MaskedParser { parse, show }
}

/// Parses a text with `parse`, whose error does not repeat it. Nothing of it is ever shown.
pub(super) fn secret<V>(parse: fn(&str) -> Result<V, String>) -> MaskedParser<V> {
    let show = |_: &str| "***".to_owned();
    MaskedParser { parse, show }
}

/// The URL with `***` in place of all that stands before its last '@': a password with a '/' or another character that
/// should have been escaped is a usual reason why a URL is refused.
fn without_credentials(url: &str) -> String {
    let Some((before, rest)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://***@{rest}"),
        None => format!("***@{rest}"),
    }
}

impl<V: Clone + Send + Sync + 'static> TypedValueParser for MaskedParser<V> {
    type Value = V;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<V, Error> {
        let text = value.to_string_lossy();
        (self.parse)(&text).or_else(|why| {
            let refused = move |_: &str| Err::<V, String>(why.clone());
            refused.parse_ref(command, arg, (self.show)(&text).as_ref())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_may_be_a_password_is_shown() {
        for (url, shown) in [
            ("http://me:secret@host:99999", "http://***@host:99999"),
            ("me:secret@host:99999", "***@host:99999"),
            ("http://me:sec/ret@host", "http://***@host"),
            ("http://me:s@cret#@host", "http://***@host"),
            ("http:/me:secret@host", "***@host"),
            ("ftp://host", "ftp://host"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }
}
