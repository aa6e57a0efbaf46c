//! The resolver: looks up host names once per process and caches the addresses, so that DNS is measured once and not
//! once per user.

use crate::failure::{ErrorClass, Failure};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// A resolver of host names with a cache, shared by all shards.
#[derive(Debug, Default)]
pub struct Resolver {
    // Locked only while a user opens a connection, never while a request is under way.
    cache: Mutex<HashMap<String, CacheEntry>>,
    /// The addresses that '--resolve' sets.
    pinned: HashMap<(String, u16), Vec<IpAddr>>,
    /// The time for which addresses are cached; `None`: as long as the process runs.
    ttl: Option<Duration>,
    /// A site inside the test in place of any host.
    #[cfg(any(test, feature = "test-support"))]
    script: Option<super::fixture::ResponseDelay>,
}

/// The addresses of one host.
#[derive(Debug, Clone)]
struct CacheEntry {
    requested_at: Instant,
    addresses: Arc<OnceCell<Vec<IpAddr>>>,
}

impl Resolver {
    /// A resolver that returns the addresses of each `pinned` host and port without a look-up, and looks up again those
    /// that it has cached for longer than `ttl`. The host '*' stands for all that have no pin of their own.
    pub fn new(
        pinned: impl IntoIterator<Item = ((String, u16), Vec<IpAddr>)>,
        ttl: Option<Duration>,
    ) -> Self {
        Resolver {
            pinned: pinned.into_iter().collect(),
            ttl,
            ..Resolver::default()
        }
    }

    /// A resolver by which a site inside the test stands in place of any host.
    #[cfg(any(test, feature = "test-support"))]
    pub fn scripted(script: super::fixture::ResponseDelay) -> Self {
        Resolver {
            script: Some(script),
            ..Resolver::default()
        }
    }

    /// The site inside the test.
    #[cfg(any(test, feature = "test-support"))]
    pub fn script(&self) -> Option<&super::fixture::ResponseDelay> {
        self.script.as_ref()
    }

    /// The addresses of `host`, in the order in which to try them. After a failed look-up, the next caller tries
    /// again.
    ///
    /// # Errors
    /// A [`Failure`] of class `dns`.
    pub(crate) async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let with_port = |addresses: &[IpAddr]| {
            let addresses = addresses.iter();
            addresses.map(|ip| SocketAddr::new(*ip, port)).collect()
        };
        if let Some(addresses) = self.pinned(host, port) {
            return Ok(with_port(addresses));
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let lookup = self.cached_or_new(host);
        let addresses = lookup.get_or_try_init(|| look_up(host, port)).await?;
        Ok(with_port(addresses))
    }

    /// The addresses that '--resolve' sets for a host and port.
    pub(crate) fn pinned(&self, host: &str, port: u16) -> Option<&[IpAddr]> {
        if self.pinned.is_empty() {
            return None;
        }
        // The dot at the end of a complete name is not part of the pin's.
        let host = host.trim_end_matches('.');
        let of = |host: &str| self.pinned.get(&(host.to_owned(), port));
        of(host).or_else(|| of("*")).map(Vec::as_slice)
    }

    /// The addresses of `host`, shared by all callers while they are fresh.
    fn cached_or_new(&self, host: &str) -> Arc<OnceCell<Vec<IpAddr>>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || CacheEntry {
            requested_at: Instant::now(),
            addresses: Arc::default(),
        };
        let entry = cache.entry(host.to_owned()).or_insert_with(new);
        if self
            .ttl
            .is_some_and(|ttl| entry.requested_at.elapsed() > ttl)
        {
            *entry = new();
        }
        entry.addresses.clone()
    }
}

/// The addresses that the system knows for a host.
async fn look_up(host: &str, port: u16) -> Result<Vec<IpAddr>, Failure> {
    let found = tokio::net::lookup_host((host, port)).await;
    let addresses: Vec<IpAddr> = found
        .map_err(|error| {
            if Failure::is_out_of_descriptors(&error) {
                Failure::new(ErrorClass::OutOfDescriptors, host)
            } else {
                Failure::new(ErrorClass::Dns, format!("cannot look up '{host}'"))
            }
        })?
        .map(|address| address.ip())
        .collect();
    if addresses.is_empty() {
        Err(Failure::new(
            ErrorClass::Dns,
            format!("'{host}' has no address"),
        ))
    } else {
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pinned_host_has_its_address_on_its_port_only() {
        let address: IpAddr = "127.0.0.9".parse().expect("an address");
        let resolver = Resolver::new([(("pinned.invalid".to_owned(), 81), vec![address])], None);
        assert_eq!(
            resolver.resolve("pinned.invalid", 81).await,
            Ok(vec![SocketAddr::new(address, 81)])
        );
        let failure = resolver.resolve("pinned.invalid", 82).await;
        assert_eq!(failure.expect_err("not pinned").class, ErrorClass::Dns);
    }

    #[test]
    fn a_lookup_is_stored_for_its_time() {
        let cached = Resolver::default();
        assert!(Arc::ptr_eq(
            &cached.cached_or_new("a"),
            &cached.cached_or_new("a")
        ));
        let forgotten = Resolver::new([], Some(Duration::ZERO));
        let first = forgotten.cached_or_new("a");
        // Time must pass between the two calls; then a time to live of zero is over.
        while Instant::now() == forgotten.cache.lock().expect("unshared")["a"].requested_at {}
        assert!(!Arc::ptr_eq(&first, &forgotten.cached_or_new("a")));
    }
}
