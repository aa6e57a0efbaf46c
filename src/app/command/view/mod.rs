//! The live view of a run, on its own thread: passes snapshots to the screen, keys to the run, and log lines to the
//! log page. The run never waits for it.

mod thread;

pub(super) use thread::ViewThread;

use super::outputs::write_all;
use super::screen::may_colour;
use crate::app::log;
use crate::app::signals::tell_of_interrupt;
use crate::app::suspension::{self, Suspension};
use crate::cli;
use crate::config::{Format, Output};
use crate::control::{Answer, Command, Done, Handle, Heard, Interrupt, News, Reader, Refusal};
use crate::metrics::{Detail, LiveTag, Report, RunPhase, Snapshot};
use crate::output;
use crate::tui::{self, Input, Screen, State, Typed, ViewContext, Wish};
use crate::units::counted;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// File that 'w' writes the report to, if the command line names no output.
const REPORT: &str = "lgoose-report.json";

/// Number of log lines that are printed after the view.
const LAST_LINES: usize = 10;

/// Time without progress after which the view of a finished run is given up.
const STUCK: Duration = Duration::from_secs(5);

/// Age at which the report for a page is renewed.
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
    /// Sender of the run's answers to this view, which goes on with keys and figures meanwhile.
    back: mpsc::UnboundedSender<Back>,
    answers: mpsc::UnboundedReceiver<Back>,
    /// When a report was last requested.
    asked: Option<Instant>,
    /// The tag whose figures were last requested, whether all of them, and when.
    asked_tag: Option<((Arc<str>, bool), Instant)>,
    /// Whether somebody pressed Ctrl-C, which also leaves the view.
    interrupted: bool,
}

/// Messages from the run back to the view.
enum Back {
    Answer(Command, Answer),
    /// A report to show; `None` when the run is over.
    ToShow(Option<Arc<Report>>),
    /// The requests of a tag to show; `None` if there are none.
    Tag(Arc<str>, Option<Box<LiveTag>>),
    /// A report to write; `None` when the run is over.
    ToWrite(Option<Arc<Report>>),
}

impl View {
    /// Opens the view on the terminal; `None` if that is not possible, in which case the run goes on without a view.
    pub(super) fn open(
        (plan, host): (String, String),
        flags: &cli::Run,
        handle: Handle,
    ) -> Option<View> {
        let screen = Screen::open().ok()?;
        log::keep_off_terminal(true);
        let (back, answers) = mpsc::unbounded_channel();
        Some(View {
            screen,
            input: Input::start(),
            facts: ViewContext {
                plan,
                host,
                colours: may_colour(flags),
                ascii: !tui::speaks_unicode(|name| std::env::var(name).ok()),
            },
            state: State::default(),
            outputs: flags.outputs.output.clone(),
            log: handle.log(),
            news: handle.news(),
            handle,
            back,
            answers,
            asked: None,
            asked_tag: None,
            interrupted: false,
        })
    }

    /// Shows a notice at once and in the log.
    #[cfg(feature = "web")]
    pub(super) fn note(mut self, notice: String) -> View {
        self.state.say(&format!(" INFO {notice}"));
        self.state.notice = notice;
        self
    }

    /// Shows the finished run until somebody leaves, or the terminal takes nothing any more.
    async fn stay(&mut self, report: &Arc<Report>) {
        let snapshot = self.state.finish(report);
        let mut stale = true;
        loop {
            tokio::select! {
                ready = tokio::time::timeout(STUCK, self.screen.ready()), if stale => {
                    stale = false;
                    let drawn = self.screen.draw(&self.facts, &mut self.state, &snapshot);
                    if ready != Ok(true) || drawn.is_err() {
                        return;
                    }
                }
                typed = self.input.next() => {
                    let Some(typed) = typed else { return };
                    match tui::handle_input(&mut self.state, &typed, &snapshot) {
                        Some(Wish::Leave) => return,
                        Some(Wish::WriteReport) => self.write_report(report),
                        Some(Wish::Suspend) => {
                            if let Some(mut suspension) = Suspension::listen() {
                                suspension.suspend(&self.handle).await;
                            }
                        }
                        _ => {}
                    }
                    stale = true;
                }
            }
        }
    }

    /// Shows the run until the terminal has gone.
    async fn show(&mut self) {
        let mut snapshots = self.handle.snapshots();
        let mut snapshot = Arc::new(Snapshot::default());
        let mut goes_on = true;
        // Whether there is something to show that is not drawn yet.
        let mut stale = true;
        loop {
            tokio::select! {
                changed = snapshots.changed(), if goes_on => {
                    // When the run is over, `start` in `thread.rs` ends this future.
                    goes_on = changed.is_ok();
                    let latest = snapshots.borrow_and_update().clone();
                    snapshot = latest.unwrap_or(snapshot);
                    self.state.look(&snapshot);
                    stale = true;
                }
                typed = self.input.next() => match typed {
                    Some(typed) => {
                        self.take(&typed, &snapshot);
                        stale = true;
                    }
                    None => return,
                },
                Some(back) = self.answers.recv() => {
                    self.hear_back(back);
                    stale = true;
                }
                Some(line) = self.log.next() => {
                    self.log_lines(line);
                    stale = true;
                }
                Some(news) = self.news.next() => {
                    self.hear(news);
                    stale = true;
                }
                ready = self.screen.ready(), if stale => {
                    stale = false;
                    let drawn = self.screen.draw(&self.facts, &mut self.state, &snapshot);
                    if !ready || drawn.is_err() {
                        return;
                    }
                }
            }
            self.keep_report_fresh();
            self.keep_tag_fresh();
        }
    }

    fn take(&mut self, typed: &Typed, snapshot: &Snapshot) {
        match tui::handle_input(&mut self.state, typed, snapshot) {
            None => {}
            Some(Wish::Command(command)) => {
                self.interrupted |= matches!(command, Command::Interrupt(_));
                self.ask(command);
            }
            // The run goes on, and so does the view.
            Some(Wish::Leave) => {}
            Some(Wish::TogglePause) => self.ask(match snapshot.progress.phase {
                RunPhase::Paused => Command::Resume,
                _ => Command::Pause,
            }),
            Some(Wish::WriteReport) => self.ask_for_report(Detail::Live, Back::ToWrite),
            Some(Wish::Suspend) => suspension::ask(),
        }
    }

    fn ask(&mut self, command: Command) {
        if command == Command::Reload {
            self.state.notice = "reloading the plan".to_owned();
        }
        let (asked, back) = (self.handle.ask(command.clone()), self.back.clone());
        tokio::spawn(async move {
            // The view may be gone.
            let _gone = back.send(Back::Answer(command, asked.await));
        });
    }

    fn ask_for_report(&self, detail: Detail, what_for: fn(Option<Arc<Report>>) -> Back) {
        let (handle, back) = (self.handle.clone(), self.back.clone());
        tokio::spawn(async move {
            let _gone = back.send(what_for(handle.report_in(detail).await));
        });
    }

    /// Requests the figures of the tag that the screen shows, if they are due.
    fn keep_tag_fresh(&mut self) {
        let Some(wanted) = self.state.wants_tag() else {
            self.asked_tag = None;
            return;
        };
        let last = self.asked_tag.as_ref();
        let due = last.is_none_or(|(asked, at)| *asked != wanted || at.elapsed() >= REPORT_AGE);
        if due {
            self.asked_tag = Some((wanted.clone(), Instant::now()));
            let (handle, back, (tag, in_full)) = (self.handle.clone(), self.back.clone(), wanted);
            tokio::spawn(async move {
                let figures = handle.tag_in(tag.clone(), in_full).await;
                let _gone = back.send(Back::Tag(tag, figures.map(Box::new)));
            });
        }
    }

    /// Requests a report if the page on the screen needs one and it is due.
    fn keep_report_fresh(&mut self) {
        let due = self.asked.is_none_or(|asked| asked.elapsed() >= REPORT_AGE);
        if due && self.state.shows_report() {
            self.asked = Some(Instant::now());
            self.ask_for_report(Detail::Pages, Back::ToShow);
        }
    }

    fn hear_back(&mut self, back: Back) {
        match back {
            Back::Answer(command, answer) => {
                if let Some(notice) = notice(command, answer) {
                    self.state.notice = notice;
                }
            }
            Back::ToShow(report) => self.state.figures.show_report(report),
            Back::Tag(tag, figures) => {
                self.state
                    .figures
                    .show_tag(&tag, figures.map(|figures| *figures));
            }
            Back::ToWrite(Some(report)) => self.write_report(&report),
            Back::ToWrite(None) => self.state.notice = Refusal::Over.to_string(),
        }
    }

    /// Takes all lines that have arrived, so that they are drawn at once.
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

    /// Shows the result of a reload: a mistake stays until somebody has read it, a success is only a notice.
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
            // Newer results follow.
            Heard::Missed(_) => {}
        }
    }

    /// Writes the outputs that the command line names, or JSON to a default file if there are none.
    fn write_report(&mut self, report: &Report) {
        let default = [Output {
            format: Format::Json,
            path: Some(REPORT.into()),
        }];
        let outputs = if self.outputs.is_empty() {
            &default[..]
        } else {
            &self.outputs[..]
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

/// Returns the notice for an answer; `None` if the screen shows the effect anyway.
fn notice(command: Command, answer: Answer) -> Option<String> {
    match answer {
        Ok(Done::Paused | Done::Resumed) => None,
        // The reader of news tells this to all views.
        Ok(Done::Reloaded(_)) | Err(Refusal::Plan(_)) => None,
        Ok(done @ Done::Stopping) if command == Command::Interrupt(Interrupt::Key) => {
            tell_of_interrupt();
            Some(format!("{done}; Ctrl-C again aborts them"))
        }
        Ok(done @ Done::Stopping) => Some(format!("{done}; Ctrl-C aborts them")),
        Ok(done) => Some(match command {
            Command::SetUsersOf(scenario, _)
            | Command::AddUsersOf(scenario, _)
            | Command::SetRateOf(scenario, _)
            | Command::AddRateOf(scenario, _) => format!("scenario '{scenario}': {done}"),
            _ => done.to_string(),
        }),
        Err(refusal) => Some(refusal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_refusal_is_the_notice_and_what_the_screen_shows_anyway_is_not() {
        let users = Command::AddUsers(1);
        let told = |command, answer| notice(command, answer);
        assert_eq!(
            told(users.clone(), Err(Refusal::Stopping)).as_deref(),
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
