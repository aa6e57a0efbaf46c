//! The command that serves a built-in site.

use crate::units;
use clap::Args;
use std::time::Duration;

/// `lgoose demo`.
#[derive(Debug, Args)]
#[command(
    after_help = "Accounts: drupal has user2 to user5001 and api user1 to user1000, all with the password 12345; umami has \
        admin with the password admin, and takes five messages an hour from an address. What a site has received, by method and path, is told as JSON at \
        /_demo/served."
)]
pub(crate) struct Demo {
    /// Which site: 'drupal', a Drupal 7 of 10,000 articles; 'umami', a Drupal 8 in English and Spanish; 'api', a shop
    /// with an API in JSON and GraphQL
    pub site: String,
    /// The port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Answer no sooner than after this time
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub latency: Duration,
    /// Spread the latency by up to this much both ways
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub jitter: Duration,
    /// Answer this share of the requests with a 500
    #[arg(long, value_parser = units::share, default_value = "0", value_name = "SHARE")]
    pub errors: f64,
}
