//! The result of an import, and the kinds of files that can be imported.

/// The kinds of files that can be imported.
pub(super) const KINDS: &str = "give a HAR file (the browser's network view, 'Save all as HAR'), a curl command line ('Copy as cURL (bash)'), \
    a Postman collection v2.1, an OpenAPI document, a JMeter test plan, an Artillery test, a k6 script or a list of targets";

/// A plan, its files and the notes on it.
#[derive(Debug)]
pub struct Imported {
    /// The text of the plan.
    pub plan: String,
    /// Names, without folders, and contents of the files that it reads.
    pub files: Vec<(String, Vec<u8>)>,
    /// Open points for the author, a line each.
    pub notes: Vec<String>,
}
