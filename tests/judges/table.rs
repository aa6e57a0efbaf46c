//! Tables of cases, each with what a judge made of it. The first line names the judge, its version and the day. The tests
//! compare lgoose with the record; where the judge is installed, they compare the record with what it does today.
//! `JUDGES=record` asks it anew and writes the table.

use crate::program::in_repository;
use jiff::Zoned;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt::Debug;
use std::path::PathBuf;

pub(crate) struct Table<Input, Reading> {
    path: PathBuf,
    record: Record,
    cases: Vec<Case<Input, Reading>>,
}

/// Who was asked, and when.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    judge: String,
    recorded: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "Input: DeserializeOwned, Reading: DeserializeOwned"))]
struct Case<Input, Reading> {
    #[serde(flatten)]
    input: Input,
    /// What the judge made of it; a case that was just written has none yet.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    judge: Option<Reading>,
    /// Why lgoose does something else on purpose; `docs/browsers.md` says it to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
}

/// Takes `null` for a reading, too.
fn present<'de, Reading: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Reading>, D::Error> {
    Reading::deserialize(deserializer).map(Some)
}

/// Returns a reading of each case, made two at a time; `read` is given the number of its thread, 0 or 1, too.
pub(crate) fn two_at_a_time<Input: Sync, Reading: Send>(
    cases: &[Input],
    read: impl Fn(&Input, usize) -> Reading + Sync,
) -> Vec<Reading> {
    let of = |cases: &[Input], thread: usize| -> Vec<Reading> {
        cases.iter().map(|case| read(case, thread)).collect()
    };
    let (first, second) = cases.split_at(cases.len() / 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| of(second, 1));
        let mut all = of(first, 0);
        all.extend(second.join().expect("it ends"));
        all
    })
}

/// Returns the bytes of a text whose characters stand for a byte each, as in Latin-1.
pub(crate) fn latin1(text: &str) -> Vec<u8> {
    let byte = |character| u8::try_from(character).expect("a byte");
    text.chars().map(byte).collect()
}

/// Whether `JUDGES=record` is set.
fn recording() -> bool {
    std::env::var("JUDGES").is_ok_and(|what| what == "record")
}

impl<Input, Reading> Table<Input, Reading>
where
    Input: Clone + Debug + Serialize + DeserializeOwned,
    Reading: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
{
    /// Reads `tests/judges/NAME.jsonl`.
    pub(crate) fn open(name: &str) -> Self {
        let path = in_repository(&format!("tests/judges/{name}.jsonl"));
        let text = std::fs::read_to_string(&path).expect("the table is there");
        let mut lines = text.lines();
        let record = lines.next().expect("a table begins with its judge");
        let case = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"))
        };
        Table {
            record: serde_json::from_str(record).expect("the first line names the judge"),
            cases: lines.map(case).collect(),
            path,
        }
    }

    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.cases.iter().map(|case| case.input.clone()).collect()
    }

    /// Compares the record with what the judge does today, or writes it with `JUDGES=record`. `version` is the judge's name
    /// and version; `today` has what it makes of each case.
    pub(crate) fn judge(mut self, version: &str, today: Vec<Reading>) {
        assert_eq!(today.len(), self.cases.len(), "a reading for each case");
        if recording() {
            self.record.judge = version.to_owned();
            self.record.recorded = Zoned::now().date().to_string();
            for (case, reading) in self.cases.iter_mut().zip(today) {
                case.judge = Some(reading);
            }
            return self.write();
        }
        for (case, reading) in self.cases.iter().zip(today) {
            assert_eq!(
                case.judge.as_ref(),
                Some(&reading),
                "{version} does not do what {} did on {}: {:?}",
                self.record.judge,
                self.record.recorded,
                case.input
            );
        }
    }

    /// Compares what lgoose makes of the cases with what the judge did: equal, unless the case says why it differs. `blind`
    /// takes from lgoose's reading what a judge cannot show.
    pub(crate) fn compare(self, own: Vec<Reading>, blind: impl Fn(&mut Reading, &Reading)) {
        assert_eq!(own.len(), self.cases.len(), "a reading for each case");
        let mut wrong = Vec::new();
        for (case, mut own) in self.cases.iter().zip(own) {
            let judge = case.judge.as_ref().expect("'just judges' asks the judge");
            blind(&mut own, judge);
            if (own == *judge) == case.differs.is_some() {
                wrong.push(format!(
                    "{:?}\n  lgoose {own:?}\n  judge  {judge:?}\n  said to differ: {:?}",
                    case.input, case.differs
                ));
            }
        }
        assert!(
            wrong.is_empty(),
            "{} of {} cases are not as {} has them:\n{}",
            wrong.len(),
            self.cases.len(),
            self.record.judge,
            wrong.join("\n")
        );
    }

    fn write(&self) {
        let mut text = serde_json::to_string(&self.record).expect("JSON") + "\n";
        for case in &self.cases {
            text += &serde_json::to_string(case).expect("JSON");
            text.push('\n');
        }
        std::fs::write(&self.path, text).expect("the table is written");
    }
}
