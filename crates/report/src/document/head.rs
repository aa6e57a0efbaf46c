//! The head of the document: the ending of the run, its diagnosis, and the warnings that readers need before they trust
//! a figure.

use lgoose_base::units::counted;
use lgoose_judgement::{Diagnosis, all_lost, measured_from};
use lgoose_metrics::{Report, VerdictResult};
use std::borrow::Cow;

/// The most reasons and the most remarks; the rest is counted.
const MAX_SENTENCES: usize = 5;

/// The head of the document.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) outcome: Outcome,
    /// The diagnosis, and its heading.
    pub(crate) diagnosis: Option<(Diagnosis, String)>,
    /// The verdict and the ending first, then reasons, remarks and warnings.
    pub(crate) sentences: Vec<(Statement, Cow<'a, str>)>,
    /// Facts that the verdict lacks: the number of thresholds that held, whether lgoose kept up.
    pub(crate) details: Vec<String>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The run was aborted or stopped before its planned end.
    PassedSoFar,
    Failed,
    /// The run was not judged.
    Open,
}

/// The kinds of a sentence of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statement {
    Verdict,
    Ending,
    Reason,
    Remark,
    Warning,
}

impl Outcome {
    /// Returns the outcome as a word or two.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::PassedSoFar => "passed so far",
            Outcome::Failed => "failed",
            Outcome::Open => "no verdict",
        }
    }
}

impl Head<'_> {
    pub(crate) fn of(report: &Report) -> Head<'_> {
        let verdict = report.verdict.as_ref();
        let ending = report.ending.as_ref();
        let is_short = ending.is_none_or(|ending| ending.cut_short);
        let outcome = match verdict.map(|verdict| verdict.result) {
            Some(VerdictResult::Passed) if is_short => Outcome::PassedSoFar,
            Some(VerdictResult::Passed) => Outcome::Passed,
            Some(VerdictResult::Failed) => Outcome::Failed,
            Some(VerdictResult::None) | None => Outcome::Open,
        };
        let (reasons, remarks) = verdict.map_or((&[][..], &[][..]), |verdict| {
            (&verdict.reasons[..], &verdict.remarks[..])
        });
        // The verdict's own text has the first.
        let reasons = reasons.get(1..).unwrap_or_default();
        let text = verdict.map(|verdict| (Statement::Verdict, &*verdict.text));
        let ended = ending.map(|ending| (Statement::Ending, &*ending.text));
        let mut sentences: Vec<(Statement, Cow<'_, str>)> = Vec::new();
        let first = text.into_iter().chain(ended);
        sentences.extend(first.map(|(kind, text)| (kind, text.into())));
        if ending.is_some_and(|ending| ending.all_lost) {
            sentences.push((Statement::Warning, all_lost(report).into()));
        }
        for (kind, all) in [
            (Statement::Reason, reasons),
            (Statement::Remark, remarks),
            (Statement::Warning, &report.warnings),
        ] {
            let is_cut = all.len() > MAX_SENTENCES && kind != Statement::Warning;
            let shown = if is_cut { MAX_SENTENCES - 1 } else { all.len() };
            sentences.extend(all[..shown].iter().map(|text| (kind, text.into())));
            if all.len() > shown {
                let more = format!("and {} more, in the JSON report", all.len() - shown);
                sentences.push((kind, more.into()));
            }
        }
        let diagnosis = Diagnosis::of_report(report);
        let measured = measured_from(report);
        Head {
            outcome,
            diagnosis: diagnosis.map(|found| {
                let heading = found.heading(measured);
                (found, heading)
            }),
            sentences,
            details: details(report),
        }
    }
}

fn details(report: &Report) -> Vec<String> {
    let all = report.thresholds.len() as u64;
    let broken = report.thresholds.iter().filter(|row| !row.passed).count();
    let mut details = Vec::new();
    if broken > 0 {
        details.push(format!("{broken} of {} broken", counted(all, "threshold")));
    }
    if report.generator.is_some_and(|row| row.saturated_s > 0.0) {
        details.push("lgoose itself was the bottleneck for part of the run".to_owned());
    }
    details
}
