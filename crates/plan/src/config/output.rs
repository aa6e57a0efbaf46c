//! The outputs of reports: `-o FORMAT=PATH`.

use std::path::PathBuf;

/// An output: the format and the place of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The format of the report.
    pub format: Format,
    /// The file, or `None` for standard output.
    pub path: Option<PathBuf>,
}

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, in the documented schema.
    Json,
    /// YAML, with the same data as JSON.
    Yaml,
    /// CSV: a row for each name, and a second file with the series.
    Csv,
    /// An HdrHistogram log: a histogram for each name.
    Hdr,
    /// HTML: a single page with charts.
    Html,
    /// Markdown: tables for a pull request.
    Md,
    /// JUnit's XML: verdicts as test cases.
    Junit,
}

/// The formats by their words in `-o FORMAT=PATH`.
const FORMATS: [(&str, Format); 7] = [
    ("json", Format::Json),
    ("yaml", Format::Yaml),
    ("csv", Format::Csv),
    ("hdr", Format::Hdr),
    ("html", Format::Html),
    ("md", Format::Md),
    ("junit", Format::Junit),
];

impl Format {
    /// Returns the word for the format in `-o FORMAT=PATH`.
    pub fn word(self) -> &'static str {
        let entry = FORMATS.iter().find(|(_, format)| *format == self);
        entry.map_or("", |(word, _)| word)
    }
}

impl Output {
    /// Reads `FORMAT=PATH`; `-` or `/dev/stdout` as path is standard output.
    ///
    /// # Errors
    /// Returns a sentence with the problem and the known formats.
    pub fn parse(text: &str) -> Result<Output, String> {
        let grammar = || {
            let words: Vec<_> = FORMATS.iter().map(|(word, _)| *word).collect();
            format!(
                "write FORMAT=PATH, for instance 'json=run.json' or 'json=-'; formats: {}",
                words.join(" ")
            )
        };
        let (word, path) = text.split_once('=').unwrap_or((text, ""));
        let Some((_, format)) = FORMATS.iter().find(|(name, _)| *name == word) else {
            return Err(format!("'{word}' is not a format: {}", grammar()));
        };
        match path {
            "" => Err(format!("'{text}' names no file: {}", grammar())),
            "-" | "/dev/stdout" => Ok(Output {
                format: *format,
                path: None,
            }),
            path => Ok(Output {
                format: *format,
                path: Some(path.into()),
            }),
        }
    }

    /// Reads `FORMAT=PATH` for a comparison, which has fewer formats.
    ///
    /// # Errors
    /// The same as [`Output::parse`].
    pub fn parse_comparison(text: &str) -> Result<Output, String> {
        let output = Output::parse(text).ok();
        output
            .filter(|one| matches!(one.format, Format::Json | Format::Html | Format::Md))
            .ok_or_else(|| {
                "write FORMAT=PATH, for instance 'md=change.md' or 'json=-'; formats: json html md"
                    .to_owned()
            })
    }

    /// Reads an output of `lgoose audit`, which is JSON alone.
    ///
    /// # Errors
    /// The same as [`Output::parse`].
    pub fn parse_json(text: &str) -> Result<Output, String> {
        let output = Output::parse(text).ok();
        output
            .filter(|one| one.format == Format::Json)
            .ok_or_else(|| "write json=PATH, for instance 'json=audit.json' or 'json=-'".to_owned())
    }

    /// Returns why outputs cannot be written together: two of them go to the same place.
    pub fn clash(outputs: &[Output]) -> Option<String> {
        let mut rest = outputs;
        while let [first, others @ ..] = rest {
            if let Some(other) = others.iter().find(|other| other.path == first.path) {
                let place = first.path.as_ref().map_or_else(
                    || "standard output".to_owned(),
                    |path| format!("'{}'", path.display()),
                );
                return Some(format!(
                    "'-o' writes both {} and {} to {place}: give each a file of its own",
                    first.format.word(),
                    other.format.word()
                ));
            }
            rest = others;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_its_word() {
        for (word, format) in FORMATS {
            let output = Output::parse(&format!("{word}=a=b")).expect("valid");
            assert_eq!((output.format, output.format.word()), (format, word));
            assert_eq!(output.path, Some("a=b".into()));
        }
    }

    #[test]
    fn two_reports_do_not_share_a_place() {
        let outputs = |texts: &[&str]| -> Vec<Output> {
            let read = |text: &&str| Output::parse(text).expect("valid");
            texts.iter().map(read).collect()
        };
        for (texts, place) in [
            (["json=-", "csv=a", "md=-"], Some("standard output")),
            (["json=b", "csv=a", "md=a"], Some("'a'")),
            (["json=b", "csv=a", "md=-"], None),
        ] {
            let clash = Output::clash(&outputs(&texts));
            assert_eq!(clash.is_some(), place.is_some(), "{texts:?}");
            let message = clash.unwrap_or_default();
            assert!(message.contains(place.unwrap_or_default()), "{message}");
        }
    }
}
