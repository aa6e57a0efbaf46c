//! The logs of a run: `--request-log FILE` and the others, `--request-log-sorted`.

use super::Settings;
use lgoose_base::error::Diagnostic;
use lgoose_base::files::NamedFile;
use std::path::Path;

/// A file that takes a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// The file.
    pub file: NamedFile,
    /// The format, by the file's ending.
    pub format: LogFormat,
}

/// The format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

impl LogFile {
    /// Reads a path that ends with `.csv` or `.jsonl`.
    ///
    /// # Errors
    /// A sentence that names both endings.
    pub fn parse(text: &str) -> Result<LogFile, String> {
        let ending = Path::new(text)
            .extension()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let format = match ending.to_str() {
            Some("csv") => LogFormat::Csv,
            Some("jsonl") => LogFormat::Jsonl,
            _ => {
                return Err(format!(
                    "'{text}' does not say how to write it: end the name with .csv or .jsonl"
                ));
            }
        };
        Ok(LogFile {
            file: NamedFile::from(text.to_owned()),
            format,
        })
    }
}

/// The logs of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logs {
    /// The log of every request.
    pub request: Option<LogFile>,
    /// The log of every run of a task or transaction.
    pub task: Option<LogFile>,
    /// The log of failed requests and runs.
    pub error: Option<LogFile>,
    /// The log of failed requests with headers and bodies.
    pub debug: Option<LogFile>,
    /// Whether the request log is sorted by connection and time.
    pub sorted: bool,
    /// Whether lines of requests have their trace.
    pub traced: bool,
}

impl Logs {
    /// Returns the logs that are kept, each with the word from its option: `request` for `--request-log`.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &LogFile)> {
        let logs = [
            ("request", &self.request),
            ("task", &self.task),
            ("error", &self.error),
            ("debug", &self.debug),
        ];
        logs.into_iter()
            .filter_map(|(word, log)| Some((word, log.as_ref()?)))
    }

    /// Returns whether each log is kept: of requests, tasks, errors, and those with headers and bodies.
    pub fn selected(&self) -> [bool; 4] {
        [&self.request, &self.task, &self.error, &self.debug].map(Option::is_some)
    }

    /// Returns the logs of the settings.
    ///
    /// # Errors
    /// Returns a [`Diagnostic`] for two logs in one file, or for a sorted request log without a file.
    pub(super) fn of(settings: &mut Settings) -> Result<Logs, Diagnostic> {
        let logs = Logs {
            request: settings.request_log.take(),
            task: settings.task_log.take(),
            error: settings.error_log.take(),
            debug: settings.debug_log.take(),
            sorted: settings.request_log_sorted.unwrap_or(false),
            traced: settings.traces().is_some(),
        };
        if logs.sorted && logs.request.is_none() {
            let message = "'--request-log-sorted' without '--request-log' sorts nothing";
            return Err(Diagnostic::new(message)
                .help("name the file with '--request-log FILE', or leave the other out"));
        }
        let files: Vec<_> = logs.files().map(|(_, log)| &log.file).collect();
        let twice = (1..files.len()).find(|at| files[..*at].contains(&files[*at]));
        match twice {
            None => Ok(logs),
            Some(at) => Err(Diagnostic::new(format!("two logs go to '{}'", files[at]))
                .help("give each log a file of its own")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides_how_a_log_is_written() {
        for (path, format) in [
            ("a.csv", Some(LogFormat::Csv)),
            ("x/a.b.JSONL", Some(LogFormat::Jsonl)),
            ("a.json", None),
            ("csv", None),
            ("", None),
        ] {
            let read = LogFile::parse(path).ok().map(|log| log.format);
            assert_eq!(read, format, "{path}");
        }
    }

    #[test]
    fn two_logs_in_one_file_are_refused() {
        let file = || LogFile::parse("a.csv").ok();
        let mut settings = Settings {
            request_log: file(),
            debug_log: file(),
            ..Settings::default()
        };
        let mistake = Logs::of(&mut settings).expect_err("one file").to_string();
        assert!(mistake.contains("two logs go to 'a.csv'"), "{mistake}");
    }
}
