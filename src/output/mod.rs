//! Outputs: each file turns a [`Report`](crate::metrics::Report) into one format and knows nothing else.

pub mod html;
pub mod json;
pub mod text;

#[cfg(test)]
pub(crate) mod fixture;
