//! Tests of whole logs, read back by the parsers that others use.

use super::*;
use lgoose_base::error::is_directing;
use lgoose_metrics::{
    Context, ExchangeDetails, Phases, Recorder, Sample, SampleFailure, SampleResponse, TaskContext,
    TaskRun, Traffic,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// Texts that a hostile plan or target may put anywhere.
const HOSTILE: [&str; 10] = [
    "plain",
    "a,b;c\td",
    "quo\"ted\"",
    "two\r\nlines\n",
    "=HYPERLINK(\"http://x\")",
    "@SUM(1)",
    "\x1b[2J\x07bell\u{9b}31m",
    "\\u0000 \u{0} nul",
    "gänse 🪿 \u{feff}",
    "bidi \u{202e}gpj.exe\u{202c} \u{2066}x\u{2069} \u{2028}",
];

#[derive(Debug)]
struct TestExchange<'a>(&'a str);

impl ExchangeDetails for TestExchange<'_> {
    fn method(&self) -> &str {
        self.0
    }
    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        put(self.0, "");
    }
    fn final_url(&self) -> String {
        self.0.to_owned()
    }
    fn class(&self) -> &str {
        "timeout"
    }
    fn request_headers(&self) -> Vec<(String, Vec<u8>)> {
        vec![("x".to_owned(), self.0.as_bytes().to_vec())]
    }
    fn response_headers(&self) -> Vec<(String, Vec<u8>)> {
        vec![("y".to_owned(), b"\xff\xfe".to_vec())]
    }
    fn body(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Records a failed request and a failed task for each text.
fn fail(recorder: &mut Recorder, origin: Instant, texts: &[&str]) {
    for text in texts {
        let failure = Some(SampleFailure {
            message: text,
            line: Some(text),
        });
        let request = recorder.request("GET", text);
        recorder.record(&Sample {
            request,
            start: origin,
            latency: Duration::from_millis(1),
            delay: None,
            phases: Phases::default(),
            response: SampleResponse::of_status(0),
            redirects: 1,
            retries: 0,
            traffic: Traffic::received(0),
            failure,
            context: Some(Context {
                user: 1,
                scenario: text,
                task: text,
                connection: None,
                trace: None,
                details: &TestExchange(text),
            }),
        });
        let task = recorder.task(text, text);
        recorder.record_task(&TaskRun {
            task,
            start: origin,
            latency: Duration::from_millis(1),
            failure,
            context: Some(TaskContext {
                user: 1,
                scenario: text,
                name: text,
                transaction: false,
                stack: None,
            }),
        });
    }
}

/// Writes all four logs with those texts into a folder of their own.
fn logs_of(folder: &Path, ending: &str, texts: &[&str]) -> WrittenLogs {
    let file = |name: &str| {
        LogFile::parse(&folder.join(name).with_extension(ending).to_string_lossy()).ok()
    };
    let logs = Logs {
        request: file("request"),
        task: file("task"),
        error: file("error"),
        debug: file("debug"),
        sorted: false,
        traced: false,
    };
    let writer = LogWriter::start(&logs, false)
        .expect("the files can be written")
        .expect("there are logs");
    let origin = Instant::now();
    let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&writer.run_logs()));
    fail(&mut recorder, origin, texts);
    drop(recorder);
    writer.finish()
}

fn lines_of(written: &WrittenLogs) -> Vec<(String, u64, u64)> {
    let rows = written.rows.iter();
    rows.map(|row| (row.log.clone(), row.lines, row.left_out))
        .collect()
}

#[test]
fn hostile_texts_are_one_line_each_and_json_restores_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = logs_of(folder.path(), "jsonl", &HOSTILE);
    let count = HOSTILE.len() as u64;
    let expected = [
        ("requests", count),
        ("tasks", count),
        ("errors", 2 * count),
        ("debug", count),
    ];
    assert_eq!(
        lines_of(&written),
        expected.map(|(log, lines)| (log.to_owned(), lines, 0))
    );
    for name in ["request", "task", "error", "debug"] {
        let path = folder.path().join(name).with_extension("jsonl");
        let text = std::fs::read_to_string(path).expect("UTF-8");
        let is_odd = |c: char| is_directing(c) || c.is_control() && c != '\n';
        assert!(!text.contains(is_odd), "{name}");
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let each = lines.len() / HOSTILE.len();
        for (line, place) in lines.iter().zip(0..) {
            let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let expected = HOSTILE[place / each];
            assert_eq!(json["error"], expected, "{name}");
            assert_eq!(json["scenario"], expected, "{name}");
        }
    }
}

#[test]
fn hostile_texts_are_one_row_each_of_as_many_fields_and_no_formula() {
    let folder = tempfile::tempdir().expect("a folder");
    logs_of(folder.path(), "csv", &HOSTILE);
    for (name, rows) in [("request", 10), ("task", 10), ("error", 20), ("debug", 10)] {
        let path = folder.path().join(name).with_extension("csv");
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        assert_eq!(text.lines().count(), rows + 1, "{name}: one line each");
        let is_odd = |c: char| is_directing(c) || c.is_control() && c != '\n';
        assert!(!text.contains(is_odd), "{name}");
        // The reader refuses rows of another length.
        let mut reader = csv::Reader::from_path(&path).expect("the file is there");
        let names = reader.headers().expect("names").clone();
        let error = names
            .iter()
            .position(|name| name == "error")
            .expect("a column");
        let read: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("CSV");
        assert_eq!(read.len(), rows);
        let each = rows / HOSTILE.len();
        for (row, place) in read.iter().zip(0..) {
            let starts = |field: &str| field.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!row.iter().any(starts), "{name}: {row:?}");
            if matches!(place / each, 0 | 1 | 2 | 8) {
                let expected = HOSTILE[place / each].replace('\t', "\\x09");
                assert_eq!(&row[error], expected, "{name}");
            }
        }
        assert!(text.contains("\\x1b[2J\\x07bell\\x9b31m"), "{name}");
        assert!(text.contains("two\\x0d\\x0alines\\x0a"), "{name}");
        assert!(text.contains("\\u{202e}gpj.exe"), "{name}");
    }
}

#[test]
fn a_full_disk_is_trouble_that_names_the_file_and_the_others_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("/dev/full", folder.path().join("error.csv")).expect("a link");
    let written = logs_of(folder.path(), "csv", &["a", "b"]);
    let lines: Vec<_> = written
        .rows
        .iter()
        .map(|row| (row.lines, row.left_out))
        .collect();
    assert_eq!(lines, [(2, 0), (2, 0), (0, 4), (2, 0)]);
    let troubles: Vec<String> = written.troubles.iter().map(Error::to_string).collect();
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    assert!(
        troubles[0].contains("error.csv") && troubles[0].contains("No space left"),
        "{troubles:?}"
    );
    assert!(
        written.warnings[0].starts_with("4 of 4 lines"),
        "{:?}",
        written.warnings
    );
}

#[test]
fn the_last_line_shows_what_was_omitted_and_readers_survive_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for ending in ["csv", "jsonl"] {
        let path = folder.path().join("a").with_extension(ending);
        let file = LogFile::parse(&path.to_string_lossy()).expect("an ending");
        let (out, parcels) = mpsc::channel();
        // Room for no chunk at all.
        let run_logs = RunLogs::new([true, false, false, false], out, 0);
        let progress = Arc::<LogProgress>::default();
        let sink = LogSink::open(&file.file, progress.clone()).expect("a file");
        let origin = Instant::now();
        let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&run_logs));
        fail(&mut recorder, origin, &["a", "b"]);
        drop(recorder);
        run_logs.end();
        let layout = LineLayout {
            kind: LogKind::Requests,
            format: file.format,
            of_workers: false,
            traced: false,
        };
        let logs = vec![LogOutput::new(layout, &file.file, sink, false)];
        let writer = LogOutputs {
            logs,
            run_logs,
            progress,
        };
        assert!(writer.write(&parcels).is_empty());
        let text = std::fs::read_to_string(&path).expect("text");
        let last = text.lines().last().expect("a line");
        if ending == "jsonl" {
            assert_eq!(last, "{\"left_out\":2}");
            continue;
        }
        let mut reader = csv::Reader::from_path(&path).expect("the file is there");
        let place = reader
            .headers()
            .expect("names")
            .iter()
            .position(|name| name == "error");
        let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("CSV");
        let last = rows.last().expect("a row");
        assert_eq!(&last[place.expect("a column")], "2 lines were left out");
    }
}
