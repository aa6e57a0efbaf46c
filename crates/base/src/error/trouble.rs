//! Trouble inside lgoose: the attempted action, its file or address, the reason and the remedy.

use super::cut;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// An error inside lgoose, printed in one line as
///
/// ```text
/// error: cannot serve the demo site on 127.0.0.1:80: permission denied; choose a higher port
/// ```
///
/// The text includes the source; [`source`](Error::source) lets programs find out its kind.
#[derive(Debug)]
pub struct Trouble(Box<TroubleParts>);

// Behind one pointer: a `Result` that may hold trouble stays small.
#[derive(Debug)]
struct TroubleParts {
    attempt: Attempt,
    place: Option<TroubleLocation>,
    source: Option<Box<dyn Error + Send + Sync>>,
    help: Option<String>,
}

#[derive(Debug)]
enum Attempt {
    /// The action that failed, an infinitive: `write the log`.
    Action(String),
    /// An event outside any particular action: a sentence.
    Event(String),
}

#[derive(Debug)]
enum TroubleLocation {
    Path(PathBuf),
    Address(String),
}

impl Trouble {
    /// Creates trouble from a whole sentence: lower-case start, no full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Trouble::of(Attempt::Event(cut(message.into())))
    }

    /// Creates trouble from an action, an infinitive without "to": `write the log` is shown as `cannot write the log`.
    pub fn cannot(action: impl Into<String>) -> Self {
        Trouble::of(Attempt::Action(cut(action.into())))
    }

    fn of(attempt: Attempt) -> Self {
        Trouble(Box::new(TroubleParts {
            attempt,
            place: None,
            source: None,
            help: None,
        }))
    }

    /// Adds the file or folder, shown in single quotes after the action.
    pub fn with_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.place = Some(TroubleLocation::Path(path.into()));
        self
    }

    /// Adds the address, shown without quotes after the action.
    pub fn with_address(mut self, address: impl ToString) -> Self {
        self.0.place = Some(TroubleLocation::Address(address.to_string()));
        self
    }

    /// Adds the reason: an error, or a text if there is none.
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Adds the remedy, shown after a semicolon.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(cut(help.into()));
        self
    }

    /// Returns the action, an infinitive; `None` if the trouble was created from a sentence.
    pub fn action(&self) -> Option<&str> {
        match &self.0.attempt {
            Attempt::Action(action) => Some(action),
            Attempt::Event(_) => None,
        }
    }

    /// Returns the file or folder.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.place {
            Some(TroubleLocation::Path(path)) => Some(path),
            Some(TroubleLocation::Address(_)) | None => None,
        }
    }

    /// Returns the address.
    pub fn address(&self) -> Option<&str> {
        match &self.0.place {
            Some(TroubleLocation::Address(address)) => Some(address),
            Some(TroubleLocation::Path(_)) | None => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TroubleParts {
            attempt,
            place,
            source,
            help,
        } = &*self.0;
        match attempt {
            Attempt::Action(action) => write!(f, "error: cannot {action}")?,
            Attempt::Event(message) => write!(f, "error: {message}")?,
        }
        match place {
            Some(TroubleLocation::Path(path)) => write!(f, " '{}'", path.display())?,
            Some(TroubleLocation::Address(address)) => write!(f, " {address}")?,
            None => {}
        }
        if let Some(source) = source {
            write!(f, ": {source}")?;
        }
        help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl Error for Trouble {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.0.source.as_deref();
        source.map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn trouble_names_action_place_cause_and_remedy() {
        let refused = || io::Error::from(io::ErrorKind::AddrInUse);
        for (trouble, text) in [
            (
                Trouble::cannot("write the log")
                    .with_path("run.csv")
                    .because(io::Error::other("no space left")),
                "error: cannot write the log 'run.csv': no space left",
            ),
            (
                Trouble::cannot("serve the demo site on")
                    .with_address("127.0.0.1:80")
                    .because(refused())
                    .help("choose another port"),
                "error: cannot serve the demo site on 127.0.0.1:80: address in use; choose another port",
            ),
            (
                Trouble::cannot("read the page").because("nothing is there"),
                "error: cannot read the page: nothing is there",
            ),
            (
                Trouble::new("a thread ended because of a bug in lgoose"),
                "error: a thread ended because of a bug in lgoose",
            ),
        ] {
            assert_eq!(trouble.to_string(), text);
        }
    }

    #[test]
    fn a_program_finds_out_what_failed_and_why() {
        let trouble = Trouble::cannot("write the log")
            .with_path("run.csv")
            .because(io::Error::from(io::ErrorKind::StorageFull));
        let error = crate::error::Error::from(trouble);
        let source = error.source().and_then(|source| source.downcast_ref());
        assert_eq!(
            source.map(io::Error::kind),
            Some(io::ErrorKind::StorageFull)
        );
        let crate::error::Error::Trouble(trouble) = error else {
            panic!("{error}");
        };
        assert_eq!(trouble.action(), Some("write the log"));
        assert_eq!(trouble.path(), Some(Path::new("run.csv")));
        assert_eq!(trouble.address(), None);
    }
}
