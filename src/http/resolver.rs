//! Host names are looked up once per process and kept, so that DNS is measured once and not per user.

use super::{ErrorClass, Failure};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::sync::OnceCell;

type Answer = Arc<OnceCell<Vec<IpAddr>>>;

/// Looks up host names; shared by all shards.
#[derive(Debug, Default)]
pub struct Resolver {
    // Locked only while a user opens a connection, never on the way of a request.
    known: Mutex<HashMap<String, Answer>>,
}

impl Resolver {
    /// The addresses of `host`, in the order to try them. A failed look-up is tried again by the next
    /// caller.
    ///
    /// # Errors
    /// A [`Failure`] of class `dns`.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let answer = {
            let mut known = self
                .known
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            known.entry(host.to_owned()).or_default().clone()
        };
        let addresses = answer
            .get_or_try_init(|| async {
                let found = tokio::net::lookup_host((host, port)).await;
                let addresses: Vec<IpAddr> = found
                    .map_err(|_| Failure::new(ErrorClass::Dns, format!("cannot look up '{host}'")))?
                    .map(|address| address.ip())
                    .collect();
                match addresses.is_empty() {
                    true => Err(Failure::new(
                        ErrorClass::Dns,
                        format!("'{host}' has no address"),
                    )),
                    false => Ok(addresses),
                }
            })
            .await?;
        Ok(addresses
            .iter()
            .map(|ip| SocketAddr::new(*ip, port))
            .collect())
    }
}
