//! The live view of a run, on its own thread: passes snapshots to the screen, keys to the run, and log lines to the
//! log page. The run never waits for it.

mod thread;

pub(super) use thread::ViewThread;

use super::outputs::write_all;
use super::screen::may_colour;
use crate::app::log;
use crate::app::signals::log_interrupt;
use crate::app::suspension::{self, Suspension};
use crate::cli;
use lgoose_base::units::counted;
use lgoose_metrics::control::{
    Command, CommandResult, Done, Handle, Interrupt, Reader, ReaderMessage, Refusal, ReloadResult,
};
use lgoose_metrics::{Detail, LiveTag, Report, RunPhase, Snapshot};
use lgoose_plan::config::{Format, Output};
use lgoose_tui::{
    self, KeyAction, TerminalEvent, TerminalInput, TerminalScreen, ViewContext, ViewState,
};
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

/// The view with its screen, its input and the handle of the run.
pub(super) struct TerminalView {
    screen: TerminalScreen,
    input: TerminalInput,
    facts: ViewContext,
    state: ViewState,
    outputs: Vec<Output>,
    handle: Handle,
    log: Reader<Arc<str>>,
    news: Reader<ReloadResult>,
    /// Sender of the run's responses to this view, which goes on with keys and figures meanwhile.
    back: mpsc::UnboundedSender<ViewMessage>,
    responses: mpsc::UnboundedReceiver<ViewMessage>,
    /// Time of the last request for a report.
    report_requested: Option<Instant>,
    /// The tag whose figures were last requested, whether all of them, and when.
    tag_requested: Option<((Arc<str>, bool), Instant)>,
    /// Whether somebody pressed Ctrl-C, which also leaves the view.
    interrupted: bool,
}

/// Messages from the run back to the view.
enum ViewMessage {
    Response(Command, CommandResult),
    /// A report to show; `None` when the run is over.
    ToShow(Option<Arc<Report>>),
    /// The requests of a tag to show; `None` if there are none.
    Tag(Arc<str>, Option<Box<LiveTag>>),
    /// A report to write; `None` when the run is over.
    ToWrite(Option<Arc<Report>>),
}

impl TerminalView {
    /// Opens the view on the terminal; `None` if that is not possible, in which case the run goes on without a view.
    pub(super) fn open(
        plan: String,
        host: String,
        flags: &cli::RunArgs,
        handle: Handle,
    ) -> Option<TerminalView> {
        let screen = TerminalScreen::open().ok()?;
        log::silence_terminal(true);
        let (back, responses) = mpsc::unbounded_channel();
        Some(TerminalView {
            screen,
            input: TerminalInput::start(),
            facts: ViewContext {
                plan,
                host,
                colours: may_colour(flags),
                ascii: !lgoose_tui::speaks_unicode(|name| std::env::var(name).ok()),
                clock: true,
            },
            state: ViewState::default(),
            outputs: flags.outputs.output.clone(),
            log: handle.log(),
            news: handle.news(),
            handle,
            back,
            responses,
            report_requested: None,
            tag_requested: None,
            interrupted: false,
        })
    }

    /// Shows a notice at once and in the log.
    pub(super) fn note(mut self, notice: String) -> TerminalView {
        self.state.add_log_line(&format!(" INFO {notice}"));
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
                    match lgoose_tui::handle_input(&mut self.state, &typed, &snapshot) {
                        Some(KeyAction::Leave) => return,
                        Some(KeyAction::WriteReport) => self.write_report(report),
                        Some(KeyAction::Suspend) => {
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
                Some(back) = self.responses.recv() => {
                    self.handle_response(back);
                    stale = true;
                }
                Some(line) = self.log.next() => {
                    self.log_lines(line);
                    stale = true;
                }
                Some(news) = self.news.next() => {
                    self.handle_news(news);
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
            self.refresh_report();
            self.refresh_tag();
        }
    }

    fn take(&mut self, typed: &TerminalEvent, snapshot: &Snapshot) {
        match lgoose_tui::handle_input(&mut self.state, typed, snapshot) {
            None => {}
            Some(KeyAction::Command(command)) => {
                self.interrupted |= matches!(command, Command::Interrupt(_));
                self.send_command(command);
            }
            // The run goes on, and so does the view.
            Some(KeyAction::Leave) => {}
            Some(KeyAction::TogglePause) => self.send_command(match snapshot.progress.phase {
                RunPhase::Paused => Command::Resume,
                _ => Command::Pause,
            }),
            Some(KeyAction::WriteReport) => self.request_report(Detail::Live, ViewMessage::ToWrite),
            Some(KeyAction::Suspend) => suspension::request(),
        }
    }

    fn send_command(&mut self, command: Command) {
        if command == Command::Reload {
            self.state.notice = "reloading the plan".to_owned();
        }
        let (response, back) = (self.handle.send(command.clone()), self.back.clone());
        tokio::spawn(async move {
            // The view may be gone.
            let _gone = back.send(ViewMessage::Response(command, response.await));
        });
    }

    fn request_report(&self, detail: Detail, what_for: fn(Option<Arc<Report>>) -> ViewMessage) {
        let (handle, back) = (self.handle.clone(), self.back.clone());
        tokio::spawn(async move {
            let _gone = back.send(what_for(handle.report_in(detail).await));
        });
    }

    /// Requests the figures of the tag that the screen shows, if they are due.
    fn refresh_tag(&mut self) {
        let Some(requested_tag) = self.state.requested_tag() else {
            self.tag_requested = None;
            return;
        };
        let last = self.tag_requested.as_ref();
        let due = last.is_none_or(|(requested, at)| {
            *requested != requested_tag || at.elapsed() >= REPORT_AGE
        });
        if due {
            self.tag_requested = Some((requested_tag.clone(), Instant::now()));
            let (handle, back, (tag, in_full)) =
                (self.handle.clone(), self.back.clone(), requested_tag);
            tokio::spawn(async move {
                let figures = handle.tag_in(tag.clone(), in_full).await;
                let _gone = back.send(ViewMessage::Tag(tag, figures.map(Box::new)));
            });
        }
    }

    /// Requests a report if the page on the screen needs one and it is due.
    fn refresh_report(&mut self) {
        let due = self
            .report_requested
            .is_none_or(|requested| requested.elapsed() >= REPORT_AGE);
        if due && self.state.shows_report() {
            self.report_requested = Some(Instant::now());
            self.request_report(Detail::Pages, ViewMessage::ToShow);
        }
    }

    fn handle_response(&mut self, back: ViewMessage) {
        match back {
            ViewMessage::Response(command, response) => {
                if let Some(notice) = notice(command, response) {
                    self.state.notice = notice;
                }
            }
            ViewMessage::ToShow(report) => self.state.figures.show_report(report),
            ViewMessage::Tag(tag, figures) => {
                self.state
                    .figures
                    .show_tag(&tag, figures.map(|figures| *figures));
            }
            ViewMessage::ToWrite(Some(report)) => self.write_report(&report),
            ViewMessage::ToWrite(None) => self.state.notice = Refusal::Over.to_string(),
        }
    }

    /// Takes all lines that have arrived, so that they are drawn at once.
    fn log_lines(&mut self, first: ReaderMessage<Arc<str>>) {
        let mut next = Some(first);
        while let Some(received) = next {
            match received {
                ReaderMessage::Entry(line) => self.state.add_log_line(&line),
                ReaderMessage::Skipped(lines) => {
                    let omitted = counted(lines, "line");
                    self.state
                        .add_log_line(&format!(" WARN {omitted} left out"));
                }
            }
            next = self.log.ready();
        }
    }

    /// Shows the result of a reload: a mistake stays until somebody has read it, a success is only a notice.
    fn handle_news(&mut self, news: ReaderMessage<ReloadResult>) {
        match news {
            ReaderMessage::Entry(Ok(message)) => {
                self.state.add_log_line(&format!(" INFO {message}"));
                self.state.notice = message.to_string();
            }
            ReaderMessage::Entry(Err(error)) => {
                self.state.alert(format!(
                    "{error}\n\nstill running the previous plan; fix it and press r"
                ));
            }
            // Newer results follow.
            ReaderMessage::Skipped(_) => {}
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
            verdict: verdict.or_else(|| Some(lgoose_judgement::judge(report, None))),
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

impl Drop for TerminalView {
    fn drop(&mut self) {
        log::silence_terminal(false);
    }
}

/// Returns the notice for a response; `None` if the screen shows the effect anyway.
fn notice(command: Command, response: CommandResult) -> Option<String> {
    match response {
        Ok(Done::Paused | Done::Resumed) => None,
        // The reader of news shows this to all views.
        Ok(Done::Reloaded(_)) | Err(Refusal::Plan(_)) => None,
        Ok(done @ Done::Stopping) if command == Command::Interrupt(Interrupt::Key) => {
            log_interrupt();
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
    use lgoose_base::error::Error;

    #[test]
    fn a_refusal_is_the_notice_and_what_the_screen_shows_anyway_is_not() {
        let users = Command::AddUsers(1);
        let describe = |command, response| notice(command, response);
        assert_eq!(
            describe(users.clone(), Err(Refusal::Stopping)).as_deref(),
            Some("the run is stopping already")
        );
        assert_eq!(
            describe(users, Ok(Done::Users(5))).as_deref(),
            Some("5 users wanted")
        );
        let stopping = describe(Command::Stop, Ok(Done::Stopping));
        let words = "stopping: running tasks finish; Ctrl-C aborts them";
        assert_eq!(stopping.as_deref(), Some(words));
        assert_eq!(describe(Command::Pause, Ok(Done::Paused)), None);
        let mistake = Error::trouble("gone".to_owned());
        assert_eq!(
            describe(Command::Reload, Err(Refusal::Plan(Arc::new(mistake)))),
            None
        );
    }
}
