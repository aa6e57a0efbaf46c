//! The live view of a run: hands snapshots to the screen, keys to the run, and the log to its page.

use super::log;
use super::outputs::write_all;
use super::reload::News;
use crate::config::{Config, Format, Load, Output};
use crate::control::Command;
use crate::engine;
use crate::error::Error;
use crate::metrics::{Report, RunPhase, RunSettings, Snapshot};
use crate::output;
use crate::tui::{Dialog, Facts, Input, Screen, State, Typed, Wish};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Where a report goes that 'w' asks for, if the command line names no place.
const REPORT: &str = "lgoose-report.json";

/// How the view has the plan loaded anew.
pub(super) struct Reloads {
    pub(super) ask: mpsc::UnboundedSender<()>,
    pub(super) news: mpsc::UnboundedReceiver<News>,
}

/// The view and what it needs.
pub(super) struct View {
    screen: Screen,
    input: Input,
    facts: Facts,
    state: State,
    log: mpsc::UnboundedReceiver<String>,
    outputs: Vec<Output>,
    settings: RunSettings,
    interrupt: mpsc::UnboundedSender<()>,
    reloads: Reloads,
}

impl View {
    /// Takes the terminal over; `None` if that is not possible, and then the run goes on without a view.
    /// `interrupt` is told of Ctrl-C, which is a key while the view has the terminal.
    pub(super) fn open(
        facts: Facts,
        outputs: &[Output],
        settings: RunSettings,
        interrupt: mpsc::UnboundedSender<()>,
        reloads: Reloads,
    ) -> Option<View> {
        let screen = Screen::open().ok()?;
        let (lines, log) = mpsc::unbounded_channel();
        log::show_in(Some(lines));
        Some(View {
            screen,
            input: Input::start(),
            facts,
            state: State::default(),
            log,
            outputs: outputs.to_vec(),
            settings,
            interrupt,
            reloads,
        })
    }

    /// Shows the run until it ends. Ends itself only with an error.
    pub(super) async fn show(
        mut self,
        mut pictures: watch::Receiver<Option<Arc<Snapshot>>>,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Error {
        let mut snapshot = Arc::new(Snapshot::default());
        loop {
            if let Err(error) = self.screen.draw(&self.facts, &mut self.state, &snapshot) {
                return Error::trouble(format!("cannot draw on the terminal: {error}"));
            }
            tokio::select! {
                changed = pictures.changed() => match changed {
                    Ok(()) => {
                        let latest = pictures.borrow_and_update().clone();
                        snapshot = latest.unwrap_or(snapshot);
                        self.state.look(&snapshot);
                    }
                    // The run is over: whoever waits for it ends this.
                    Err(_) => return std::future::pending().await,
                },
                Some(typed) = self.input.next() => {
                    if let Err(error) = self.take(&typed, &snapshot, &commands) {
                        return error;
                    }
                }
                Some(line) = self.log.recv() => self.state.say(line),
                Some(news) = self.reloads.news.recv() => self.hear(news),
            }
        }
    }

    fn take(
        &mut self,
        typed: &Typed,
        snapshot: &Snapshot,
        commands: &mpsc::UnboundedSender<Command>,
    ) -> Result<(), Error> {
        match self.state.take(typed, &self.facts, snapshot) {
            None => {}
            Some(Wish::Command(command)) => send(commands, command),
            Some(Wish::TogglePause) => send(
                commands,
                match snapshot.phase {
                    RunPhase::Paused => Command::Resume,
                    _ => Command::Pause,
                },
            ),
            Some(Wish::Interrupt) => {
                self.state.notice =
                    "stopping: running tasks finish; Ctrl-C again aborts them".to_owned();
                // Whoever listens may have ended.
                let _over = self.interrupt.send(());
            }
            Some(Wish::Reload) => {
                self.state.notice = "loading the plan anew".to_owned();
                let _over = self.reloads.ask.send(());
            }
            Some(Wish::WriteReport) => self.write_report(snapshot),
            Some(Wish::Suspend) => self.screen.suspend().map_err(|error| {
                Error::trouble(format!("cannot give the terminal back: {error}"))
            })?,
        }
        Ok(())
    }

    /// What is wrong with the new plan has to be read, that it runs only to be seen.
    fn hear(&mut self, news: News) {
        match news {
            Ok(told) => {
                self.state.say(format!(" INFO {told}"));
                self.state.notice = told;
            }
            Err(error) => {
                let text = format!(
                    "{error}\n\nthe plan that was loaded before runs on; mend it and press r"
                );
                self.state.dialog = Dialog::Message(text);
            }
        }
    }

    /// Writes what the command line asks for at the end, or JSON into a file of its own.
    fn write_report(&mut self, snapshot: &Snapshot) {
        let Some(report) = &snapshot.report else {
            self.state.notice = "there is no report yet".to_owned();
            return;
        };
        let default = [Output {
            format: Format::Json,
            path: Some(REPORT.into()),
        }];
        let outputs = match self.outputs.is_empty() {
            true => &default[..],
            false => &self.outputs[..],
        };
        let mut report = Report {
            settings: Some(self.settings.clone()),
            ..Report::clone(report)
        };
        report.verdict = Some(output::judge(&report, None));
        match write_all(outputs, &report) {
            Ok(()) => {
                let paths = outputs.iter().filter_map(|output| output.path.as_ref());
                let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
                self.state.notice = format!("written: {}", paths.join(", "));
            }
            Err(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                self.state.dialog = Dialog::Message(texts.join("\n"));
            }
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        log::show_in(None);
        // What was logged on the way is not lost with the screen.
        while let Ok(line) = self.log.try_recv() {
            self.state.say(line);
        }
    }
}

fn send(commands: &mpsc::UnboundedSender<Command>, command: Command) {
    // The run may be over already.
    let _over = commands.send(command);
}

/// What the view has to know of a run that is about to begin.
pub(super) fn facts(plan: &str, host: String, config: &Config, colours: bool) -> Facts {
    Facts {
        plan: plan.to_owned(),
        host,
        users: config.users,
        ends: engine::end_of(config),
        at_rate: matches!(config.load, Load::Rate(..)),
        colours,
    }
}
