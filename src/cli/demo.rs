//! The command that serves a built-in site.

use clap::Args;
use lgoose_base::units;
use std::time::Duration;

/// `lgoose demo`.
#[derive(Debug, Args)]
#[command(
    after_help = "Accounts: drupal has user2 to user5001 and api user1 to user1000, all with the password 12345; umami has \
        admin with the password admin, and accepts five messages an hour from an address. llm has the models demo, demo-fast, \
        demo-slow and demo-reasoning; '?ttft=200&gap=20' behind a path sets its milliseconds to the first token and between two. \
        /_demo/served shows as JSON what the site has received, by method and path, and /_demo/sent of llm when each token was sent."
)]
pub(crate) struct DemoArgs {
    /// The site: 'drupal', a Drupal 7 with 10,000 articles; 'umami', a Drupal 8 in English and Spanish; 'api', a shop
    /// with an API in JSON and GraphQL; 'llm', language models behind OpenAI's API; 'redis', a store of keys with
    /// the protocol of Redis
    pub site: String,
    /// The port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// The minimum response time
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub latency: Duration,
    /// Vary the latency by up to this much in both directions
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub jitter: Duration,
    /// Answer this share of the requests with status 500
    #[arg(long, value_parser = units::share, default_value = "0", value_name = "SHARE")]
    pub errors: f64,
}
