//! The live view in a terminal: the current state of a run, and the keys that steer it.
//!
//! `draw` is pure: the same [`ViewContext`], `State` and snapshot give the same screen. [`handle_input`] turns a key
//! into a change of the screen and a `Wish` for the owner of the run. `Screen` is the only part that touches the
//! terminal, and always restores it. Nothing here ever waits for the terminal.
//!
//! Used by the program.
//!
//! ```
//! let of = |language: &'static str| move |name: &str| (name == "LANG").then(|| language.to_owned());
//! assert!(lgoose_tui::speaks_unicode(of("de_DE.UTF-8")));
//! assert!(!lgoose_tui::speaks_unicode(of("C")));
//! ```

mod by_tag;
mod draw;
mod figures;
mod history;
mod keys;
mod layout;
mod listing;
mod loads;
mod log;
mod pages;
mod screen;
mod state;
mod style;
mod text;
mod timeline;

pub(crate) use draw::draw;
pub use draw::speaks_unicode;
pub use keys::{KeyAction, handle_input};
pub use screen::{TerminalEvent, TerminalInput, TerminalScreen, hand_back, take_again};
pub use state::ViewState;

/// Facts of a run that the view knows from its beginning.
#[derive(Debug, Clone, Default)]
pub struct ViewContext {
    /// The plan's path.
    pub plan: String,
    /// The target as it is shown.
    pub host: String,
    /// Whether colours may be used.
    pub colours: bool,
    /// Whether the terminal shows ASCII only.
    pub ascii: bool,
    /// Whether moments have their wall clock, too.
    pub clock: bool,
}
