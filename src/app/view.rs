//! The live view of a run: hands snapshots to the screen, keys to the run, and the log to its page.

use super::log;
use super::outputs::write_all;
use super::signals::{ended, tell_of_interrupt};
use crate::config::{Format, Output};
use crate::control::{Answer, Command, Done, Handle, Heard, Interrupt, News, Reader, Refusal};
use crate::engine::Outcome;
use crate::error::Error;
use crate::metrics::{Cause, Report, RunPhase, Snapshot};
use crate::output;
use crate::tui::{Input, Screen, State, Typed, ViewContext, Wish};
use crate::units::counted;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Where a report goes that 'w' asks for, if the command line names no place.
const REPORT: &str = "lgoose-report.json";

/// Lines of the log that are printed after the view.
const LAST_LINES: usize = 10;

/// How old the report gets that pages are made from.
const REPORT_AGE: Duration = Duration::from_millis(900);

/// The view and what it needs.
pub(super) struct View {
    screen: Screen,
    input: Input,
    facts: ViewContext,
    state: State,
    outputs: Vec<Output>,
    handle: Handle,
    log: Reader<Arc<str>>,
    news: Reader<News>,
    /// For what the run answers, while keys and figures go on.
    back: mpsc::UnboundedSender<Back>,
    answers: mpsc::UnboundedReceiver<Back>,
    /// When a report was last asked for.
    asked: Option<Instant>,
    /// Somebody pressed Ctrl-C: that is out of the view, too.
    interrupted: bool,
}

/// What comes back from the run.
enum Back {
    Answer(Command, Answer),
    /// A report to show; `None` when the run is over.
    ToShow(Option<Arc<Report>>),
    /// Likewise, to be written.
    ToWrite(Option<Arc<Report>>),
}

impl View {
    /// Takes the terminal over; `None` if that is not possible, and then the run goes on without a view.
    pub(super) fn open(facts: ViewContext, outputs: &[Output], handle: Handle) -> Option<View> {
        let screen = Screen::open().ok()?;
        log::keep_off_terminal(true);
        let (back, answers) = mpsc::unbounded_channel();
        Some(View {
            screen,
            input: Input::start(),
            facts,
            state: State::default(),
            outputs: outputs.to_vec(),
            log: handle.log(),
            news: handle.news(),
            handle,
            back,
            answers,
            asked: None,
            interrupted: false,
        })
    }

    /// Shows the run until it ends. Ends itself only with an error.
    pub(super) async fn show(&mut self) -> Error {
        let mut snapshots = self.handle.snapshots();
        let mut snapshot = Arc::new(Snapshot::default());
        loop {
            tokio::select! {
                changed = snapshots.changed() => match changed {
                    Ok(()) => {
                        let latest = snapshots.borrow_and_update().clone();
                        snapshot = latest.unwrap_or(snapshot);
                        self.state.look(&snapshot);
                    }
                    // The run is over: whoever waits for it ends this.
                    Err(_) => return std::future::pending().await,
                },
                Some(typed) = self.input.next() => {
                    if let Err(error) = self.take(&typed, &snapshot) {
                        return error;
                    }
                }
                Some(back) = self.answers.recv() => self.hear_back(back),
                Some(line) = self.log.next() => self.log_lines(line),
                Some(news) = self.news.next() => self.hear(news),
            }
            self.keep_report_fresh();
            if let Err(error) = self.screen.draw(&self.facts, &mut self.state, &snapshot) {
                return Error::cannot("draw on the terminal", error);
            }
        }
    }

    /// Shows the run, which is over, until somebody has seen enough, unless nobody is there or wants that. The last
    /// lines of the log, which nobody has seen elsewhere.
    pub(super) async fn leave(mut self, outcome: &Outcome, at_once: bool) -> Vec<String> {
        if let Some(line) = self.log.ready() {
            self.log_lines(line);
        }
        let ending = outcome.report.ending.as_ref();
        let told_to_go = ending.is_some_and(|ending| ending.cause == Cause::Signal);
        if !(at_once || told_to_go || self.interrupted || outcome.trouble.is_some()) {
            self.stay(&Arc::new(outcome.report.clone())).await;
        }
        self.state.last_lines(LAST_LINES)
    }

    async fn stay(&mut self, report: &Arc<Report>) {
        let snapshot = self.state.finish(report);
        loop {
            // A terminal that is gone needs no view.
            if (self.screen.draw(&self.facts, &mut self.state, &snapshot)).is_err() {
                return;
            }
            tokio::select! {
                typed = self.input.next() => {
                    let Some(typed) = typed else { return };
                    match self.state.take(&typed, &snapshot) {
                        Some(Wish::Leave) => return,
                        Some(Wish::WriteReport) => self.write_report(report),
                        Some(Wish::Suspend) if self.screen.suspend().is_err() => return,
                        _ => {}
                    }
                }
                () = ended() => return,
            }
        }
    }

    fn take(&mut self, typed: &Typed, snapshot: &Snapshot) -> Result<(), Error> {
        match self.state.take(typed, snapshot) {
            None => {}
            Some(Wish::Command(command)) => {
                self.interrupted |= matches!(command, Command::Interrupt(_));
                self.ask(command);
            }
            Some(Wish::TogglePause) => self.ask(match snapshot.phase {
                RunPhase::Paused => Command::Resume,
                _ => Command::Pause,
            }),
            // The run goes on.
            Some(Wish::Leave) => {}
            Some(Wish::WriteReport) => self.ask_for_report(Back::ToWrite),
            Some(Wish::Suspend) => self.screen.suspend().map_err(|error| {
                Error::trouble(format!("cannot give the terminal back: {error}"))
            })?,
        }
        Ok(())
    }

    fn ask(&mut self, command: Command) {
        if command == Command::Reload {
            self.state.notice = "reloading the plan".to_owned();
        }
        let (asked, back) = (self.handle.ask(command), self.back.clone());
        tokio::spawn(async move {
            // The view may be gone.
            let _gone = back.send(Back::Answer(command, asked.await));
        });
    }

    fn ask_for_report(&self, what_for: fn(Option<Arc<Report>>) -> Back) {
        let (handle, back) = (self.handle.clone(), self.back.clone());
        tokio::spawn(async move {
            let _gone = back.send(what_for(handle.report().await));
        });
    }

    /// Asks for a report when a page is shown that needs one.
    fn keep_report_fresh(&mut self) {
        let due = self.asked.is_none_or(|asked| asked.elapsed() >= REPORT_AGE);
        if due && self.state.shows_report() {
            self.asked = Some(Instant::now());
            self.ask_for_report(Back::ToShow);
        }
    }

    fn hear_back(&mut self, back: Back) {
        match back {
            Back::Answer(command, answer) => {
                if let Some(notice) = notice(command, answer) {
                    self.state.notice = notice;
                }
            }
            Back::ToShow(report) => self.state.show_report(report),
            Back::ToWrite(Some(report)) => self.write_report(&report),
            Back::ToWrite(None) => self.state.notice = Refusal::Over.to_string(),
        }
    }

    /// All lines that are there, so that many cost one drawing.
    fn log_lines(&mut self, first: Heard<Arc<str>>) {
        let mut next = Some(first);
        while let Some(heard) = next {
            match heard {
                Heard::Entry(line) => self.state.say(&line),
                Heard::Missed(lines) => {
                    let left_out = counted(lines, "line");
                    self.state.say(&format!(" WARN {left_out} left out"));
                }
            }
            next = self.log.ready();
        }
    }

    /// What is wrong with the new plan has to be read, that it runs only to be seen.
    fn hear(&mut self, news: Heard<News>) {
        match news {
            Heard::Entry(Ok(told)) => {
                self.state.say(&format!(" INFO {told}"));
                self.state.notice = told.to_string();
            }
            Heard::Entry(Err(error)) => {
                self.state.alert(format!(
                    "{error}\n\nstill running the previous plan; fix it and press r"
                ));
            }
            // Newer ones follow.
            Heard::Missed(_) => {}
        }
    }

    /// Writes what the command line asks for at the end, or JSON into a file of its own.
    fn write_report(&mut self, report: &Report) {
        let default = [Output {
            format: Format::Json,
            path: Some(REPORT.into()),
        }];
        let outputs = match self.outputs.is_empty() {
            true => &default[..],
            false => &self.outputs[..],
        };
        let verdict = report.verdict.clone();
        let report = Report {
            verdict: verdict.or_else(|| Some(output::judge(report, None))),
            ..report.clone()
        };
        match write_all(outputs, &report) {
            Ok(()) => {
                let paths = outputs.iter().filter_map(|output| output.path.as_ref());
                let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
                self.state.notice = format!("written: {}", paths.join(", "));
            }
            Err(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                self.state.alert(texts.join("\n"));
            }
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        log::keep_off_terminal(false);
    }
}

/// What to say of an answer; `None` where the screen shows it anyway.
fn notice(command: Command, answer: Answer) -> Option<String> {
    match answer {
        Ok(Done::Paused | Done::Resumed) => None,
        // The news tell it to all views.
        Ok(Done::Reloaded(_)) | Err(Refusal::Plan(_)) => None,
        Ok(done @ Done::Stopping) if command == Command::Interrupt(Interrupt::Key) => {
            tell_of_interrupt();
            Some(format!("{done}; Ctrl-C again aborts them"))
        }
        Ok(done @ Done::Stopping) => Some(format!("{done}; Ctrl-C aborts them")),
        Ok(done) => Some(done.to_string()),
        Err(refusal) => Some(refusal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_the_notice_and_what_the_screen_shows_anyway_is_not() {
        let users = Command::AddUsers(1);
        let told = |command, answer| notice(command, answer);
        assert_eq!(
            told(users, Err(Refusal::Stopping)).as_deref(),
            Some("the run is stopping already")
        );
        assert_eq!(
            told(users, Ok(Done::Users(5))).as_deref(),
            Some("5 users wanted")
        );
        let stopping = told(Command::Stop, Ok(Done::Stopping));
        let words = "stopping: running tasks finish; Ctrl-C aborts them";
        assert_eq!(stopping.as_deref(), Some(words));
        assert_eq!(told(Command::Pause, Ok(Done::Paused)), None);
        let mistake = Error::trouble("gone".to_owned());
        assert_eq!(
            told(Command::Reload, Err(Refusal::Plan(Arc::new(mistake)))),
            None
        );
    }
}
