//! Events of the plan, run on one of the workers.

use super::pump::{ANSWER, Pump};
use crate::engine::{EventEnd, EventTask, Told};
use crate::gaggle::messages::{LineKind, Reply, Request, RequestKind};
use crate::plan::Event;
use std::time::Duration;
use tokio::sync::oneshot;

/// Time limit for an event's function; its own limits end it long before.
const EVENT: Duration = Duration::from_secs(24 * 3_600);

impl Pump {
    /// Runs an event on a worker, and sends the value that it returned to the others.
    pub(super) async fn event(&mut self, task: EventTask) {
        let EventTask {
            event,
            mut ordered,
            result,
            ..
        } = task;
        let failed = move |why: String| {
            let why = format!("{}: {why}", event.name());
            Ok(EventEnd::failed(why))
        };
        let Some(member) = self.roll.any_present() else {
            // The director may no longer wait for it.
            let _given_up = result.send(failed("no worker is left to run it".to_owned()));
            return;
        };
        let (id, name) = (member.presence.id.clone(), member.name().to_owned());
        let others: Vec<String> = self
            .roll
            .0
            .iter()
            .map(|one| one.presence.id.clone())
            .collect();
        let asked = self.request(RequestKind::Event(event));
        let (figures, measured) = oneshot::channel();
        let (shared, told) = oneshot::channel();
        let (broker, run) = (self.line.broker.clone(), self.line.run.clone());
        let running = async move {
            let asking = broker.request(&id, &asked, EVENT);
            tokio::pin!(asking);
            let reply = loop {
                tokio::select! {
                    reply = &mut asking => break reply,
                    changed = ordered.changed() => {
                        if changed.is_err() {
                            return failed("it was given up".to_owned());
                        }
                        let order = *ordered.borrow_and_update();
                        let request = Request { run: run.clone(), kind: RequestKind::EventOrder(order) };
                        let _gone = broker.request(&id, &request, ANSWER).await;
                    }
                }
            };
            let ended = match reply {
                Ok(Reply::Event(ended)) => ended,
                Ok(_) => return failed("its worker gave an unexpected answer".to_owned()),
                Err(why) => return failed(format!("worker '{name}': {why}")),
            };
            let _no_run = figures.send(ended.bytes.clone());
            if let Some(json) = &ended.shared {
                let request = Request {
                    run,
                    kind: RequestKind::Share(json.clone()),
                };
                let others = others.iter().filter(|other| **other != id);
                let asked = others.map(|other| broker.request(other, &request, ANSWER));
                let answers = futures_util::future::join_all(asked).await;
                if let Some(why) = answers.into_iter().find_map(Result::err) {
                    return failed(format!(
                        "what it returned did not reach every worker: {why}"
                    ));
                }
                let _no_run = shared.send(json.clone());
            }
            ended.end()
        };
        match event {
            Event::TestStart => {
                // Users have not begun, so the pump has nothing else to do.
                let ended = running.await;
                self.shared = told.await.ok();
                self.chronicle.test_start = measured.await.ok();
                let _given_up = result.send(ended);
            }
            Event::TestStop => {
                self.chronicle
                    .write(self.now(), LineKind::Told(Told::TestStop));
                tokio::spawn(async move {
                    let _given_up = result.send(running.await);
                });
            }
        }
    }
}
