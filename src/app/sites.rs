//! The built-in sites of a run: started if a host is `demo:NAME`, and served during the run. Without the feature `demo`
//! there are none.

#[cfg(feature = "demo")]
use lgoose_base::error::masked_address;
#[cfg(feature = "demo")]
use lgoose_base::error::nearest;
use lgoose_base::error::{Diagnostic, Error};
#[cfg(feature = "demo")]
use lgoose_demo::{Behaviour, Demo, Site};

/// The built-in sites that serve a run.
#[derive(Default)]
pub(super) struct Sites {
    #[cfg(feature = "demo")]
    served: Vec<(String, Demo)>,
}

#[cfg(feature = "demo")]
impl Sites {
    /// Returns the URL of the named site, such as `drupal`; starts the site if it is not running yet.
    ///
    /// # Errors
    /// Returns a diagnostic if there is no such site, or trouble if it cannot be started.
    pub(super) fn url_of(&mut self, name: &str) -> Result<String, Error> {
        if let Some((_, demo)) = self.served.iter().find(|(served, _)| served == name) {
            return Ok(demo.url());
        }
        let demo = Demo::start(site_named(name)?, 0, Behaviour::default(), 1)?;
        let url = demo.url();
        self.served.push((name.to_owned(), demo));
        Ok(url)
    }

    /// Checks that there is such a site, without starting it.
    pub(super) fn check(name: &str) -> Result<(), Error> {
        site_named(name).map(drop)
    }

    /// The hosts as plans name them, such as `demo:drupal`, each with its URL.
    pub(super) fn served(&self) -> impl Iterator<Item = (String, String)> {
        let named = |(name, demo): &(String, Demo)| (format!("demo:{name}"), demo.url());
        self.served.iter().map(named)
    }
}

#[cfg(not(feature = "demo"))]
impl Sites {
    /// Returns a mistake: there are no built-in sites.
    pub(super) fn url_of(&mut self, name: &str) -> Result<String, Error> {
        Err(missing(name).into())
    }

    /// Returns a mistake: there are no built-in sites.
    pub(super) fn check(name: &str) -> Result<(), Error> {
        Err(missing(name).into())
    }

    /// None.
    pub(super) fn served(&self) -> impl Iterator<Item = (String, String)> {
        std::iter::empty()
    }
}

/// Returns the named site.
///
/// # Errors
/// Returns a diagnostic that names the nearest site and all others.
#[cfg(feature = "demo")]
pub(super) fn site_named(name: &str) -> Result<Site, Error> {
    Site::from_name(name).ok_or_else(|| {
        let near = nearest(name, Site::NAMES.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        Diagnostic::new(format!(
            "there is no built-in site '{}'",
            masked_address(name)
        ))
        .help(format!("{hint}sites: {}", Site::NAMES.join(", ")))
        .into()
    })
}

/// The mistake of naming a built-in site where there are none.
#[cfg(not(feature = "demo"))]
pub(super) fn missing(name: &str) -> Diagnostic {
    Diagnostic::new(format!(
        "this lgoose has no built-in sites such as '{name}'"
    ))
    .help("build it with the feature 'demo', or name another host")
}
