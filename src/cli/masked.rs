//! Values that may hold a secret. clap repeats a value that is refused: these are shown without the secret.

use clap::builder::TypedValueParser;
use clap::{Arg, Command, error::Error};
use lgoose_base::error::masked_address;
use std::ffi::OsStr;

/// A parser of values that may hold a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaskedParser<V> {
    parse: fn(&str) -> Result<V, String>,
    show: fn(&str) -> String,
}

/// Parses a URL with `parse`, whose error does not repeat it. Its possible user and password are never shown.
pub(super) fn url<V>(parse: fn(&str) -> Result<V, String>) -> MaskedParser<V> {
    let show = |text: &str| masked_address(text).into_owned();
    MaskedParser { parse, show }
}

/// Parses a text with `parse`, whose error does not repeat it. Nothing of it is ever shown.
pub(super) fn secret<V>(parse: fn(&str) -> Result<V, String>) -> MaskedParser<V> {
    let show = |_: &str| "***".to_owned();
    MaskedParser { parse, show }
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
