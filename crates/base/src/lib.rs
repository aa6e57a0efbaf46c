//! The foundation of all crates of lgoose: units and their notation, errors, tags, trace contexts, the files of a plan, the
//! notation of thresholds, standard streams, and facts about the machine.
//!
//! Every other crate but `html` uses it. It knows neither the plan language nor a protocol or a screen.
//!
//! ```
//! use lgoose_base::threshold::Threshold;
//!
//! let threshold = Threshold::read("GET /cart: p95 < 300ms during 10s").expect("it is written well");
//! assert!(threshold.holds(299.0));
//! assert!(!threshold.holds(300.0));
//! ```

pub mod allotment;
pub mod base64;
pub mod console;
pub mod error;
pub mod figures;
pub mod files;
pub mod foreign_formats;
pub mod line;
pub mod machine;
pub mod packed;
pub mod pem;
pub mod phases;
pub mod secrets;
pub mod tags;
pub mod threshold;
pub mod trace;
pub mod units;
pub mod wildcard;
pub mod yaml;
