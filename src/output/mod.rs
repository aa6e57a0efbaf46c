//! Outputs: each file turns a [`Report`](crate::metrics::Report) into one format and knows nothing else.

pub mod json;
pub mod log;
pub mod text;

#[cfg(test)]
pub(crate) mod fixture;
