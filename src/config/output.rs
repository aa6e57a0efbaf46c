//! Where reports go: `-o FORMAT=PATH`.

use std::path::PathBuf;

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it is written.
    pub format: Format,
    /// The file, or `None` for standard output.
    pub path: Option<PathBuf>,
}

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The documented JSON schema.
    Json,
    /// A page with charts.
    Html,
}

impl Output {
    /// Reads `FORMAT=PATH`; `-` as path is standard output.
    ///
    /// # Errors
    /// A sentence that says what is wrong and which formats there are.
    pub fn parse(text: &str) -> Result<Output, String> {
        const GRAMMAR: &str =
            "write FORMAT=PATH, for instance 'json=run.json' or 'json=-'; formats: json, html";
        let (format, path) = text.split_once('=').unwrap_or((text, ""));
        let format = match format {
            "json" => Format::Json,
            "html" => Format::Html,
            other => return Err(format!("'{other}' is not a format: {GRAMMAR}")),
        };
        match path {
            "" => Err(format!("'{text}' names no file: {GRAMMAR}")),
            "-" => Ok(Output { format, path: None }),
            path => Ok(Output {
                format,
                path: Some(path.into()),
            }),
        }
    }
}
