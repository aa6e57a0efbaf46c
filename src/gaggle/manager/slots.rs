//! Slots of a run: groups of workers with the same labels whose figures a gather adds up.

use super::pump::ANSWER;
use super::roll::{Member, Roll};
use super::terms::Tell;
use crate::error::Error;
use crate::gaggle::broker::{Broker, NotKept};
use crate::gaggle::gather::{GatherRequest, Reached, Record, RecordKind, gathers};
use crate::gaggle::messages::GatherPresence;
use crate::gaggle::names;
use crate::gaggle::reading::Heard;
use crate::metrics::{label_texts, labels_text};
use crate::units::counted;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// All slots of a run.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) all: Vec<Slot>,
    pub(super) sender: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
}

/// A slot.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: String,
    /// Labels of its workers.
    pub(super) labels: BTreeMap<String, String>,
    /// Identity and name of the gather that was asked last.
    pub(super) gather: (String, String),
    /// Number of the last record, within the slot and in the run's stream.
    pub(super) number: u64,
    pub(super) stream: u64,
    /// Sequence number in the run's stream of the last signal that is accounted for.
    pub(super) through: u64,
    /// When the last record came.
    pub(super) heard: Instant,
    pub(super) turn: Turn,
    /// Messages on its subject that are no records.
    pub(super) skipped: u64,
}

/// Who reads the signals of a slot.
#[derive(Debug)]
pub(super) enum Turn {
    Gather,
    /// The manager is taking over.
    TakingOver,
    Manager {
        reading: AbortHandle,
        /// When it last looked for a gather.
        asked: Instant,
    },
    /// The manager is handing the slot back to a gather.
    HandingBack,
}

/// Something that happens to a slot besides its records.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) slot: usize,
    pub(super) kind: EventKind,
}

#[derive(Debug)]
pub(super) enum EventKind {
    /// A signal that the manager reads itself.
    Signal(Heard),
    /// The slot's signals cannot be read.
    Unreadable(Error),
    /// The manager's own record could not be written.
    NotTakenOver(NotKept),
    /// A gather with a fitting label has answered.
    Found(GatherPresence),
}

impl Slots {
    /// Returns the slots of a run without gathers.
    pub(super) fn none() -> Slots {
        let (sender, events) = mpsc::unbounded_channel();
        Slots {
            all: Vec::new(),
            sender,
            events,
        }
    }

    /// Looks for gathers, and assigns to each the workers that have one of its labels.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn open(
        broker: &Broker,
        run: &str,
        roll: &mut Roll,
        tell: &Tell,
    ) -> Result<Slots, Error> {
        let mut slots = Slots::none();
        let present = fitting(gathers(broker).await?, |text| tell(text));
        let members = roll.0.iter().map(|member| member.presence.labels.clone());
        let sets: BTreeSet<BTreeMap<String, String>> = members.collect();
        for labels in sets {
            let Some(gather) = present.iter().find(|gather| fits(gather, &labels)) else {
                continue;
            };
            let name = names::slot(slots.all.len());
            if let Err(why) = ask(broker, &gather.id, run, &name).await {
                tell(&format!(
                    "gather '{}' does not add up the figures of {}: {why}",
                    gather.name,
                    labels_text(&labels)
                ));
                continue;
            }
            let alike = |member: &&mut Member| member.presence.labels == labels;
            let members = roll.0.iter_mut().filter(alike);
            let count = members
                .map(|member| member.place.slot = Some(name.clone()))
                .count();
            tell(&format!(
                "gather '{}' adds up the figures of {} with {}",
                gather.name,
                counted(count as u64, "worker"),
                labels_text(&labels)
            ));
            slots.all.push(Slot {
                name,
                labels,
                gather: (gather.id.clone(), gather.name.clone()),
                number: 0,
                stream: 0,
                through: 0,
                heard: Instant::now(),
                turn: Turn::Gather,
                skipped: 0,
            });
        }
        Ok(slots)
    }

    /// Waits for the next event. Can be dropped and called again at any time.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Lets all gathers of the run go.
    pub(super) async fn release(&self, broker: &Broker, run: &str) {
        let ids: BTreeSet<&String> = self.all.iter().map(|slot| &slot.gather.0).collect();
        for id in ids {
            let request = GatherRequest::Release {
                run: run.to_owned(),
            };
            // If this is lost, the gather notices that the stream is gone.
            let _gone = broker.reply(names::gather(id), &request, ANSWER).await;
        }
        for slot in &self.all {
            if let Turn::Manager { reading, .. } = &slot.turn {
                reading.abort();
            }
        }
    }

    pub(super) fn number_of(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|slot| slot.name == name)
    }
}

impl Slot {
    /// Returns the manager's next record of the slot, and the number in the stream of the record before it.
    pub(super) fn next(&self, kind: RecordKind, members: Vec<Reached>) -> (Record, u64) {
        let record = Record {
            number: self.number + 1,
            through: self.through,
            by: None,
            members,
            kind,
        };
        (record, self.stream)
    }
}

impl Roll {
    /// Returns how far the signals of a slot's workers are accounted for.
    pub(super) fn reached(&self, slot: &str) -> Vec<Reached> {
        let members = self.0.iter().filter(|member| member.sequence > 0);
        let members = members.filter(|member| member.place.slot.as_deref() == Some(slot));
        let reached = members.filter_map(|member| {
            Some(Reached {
                worker: member.worker?,
                sequence: member.sequence,
                signals: 0,
                epoch: 0,
            })
        });
        reached.collect()
    }

    /// Returns whether any worker of a slot still has to send its last signal.
    pub(super) fn any_at_work(&self, slot: &str) -> bool {
        let mut members = self.0.iter();
        members.any(|member| member.place.slot.as_deref() == Some(slot) && !member.ended)
    }

    /// Counts the silence of a slot's workers from now on: what they sent before may wait for a gather.
    pub(super) fn excuse(&mut self, slot: &str, now: Instant) {
        for member in &mut self.0 {
            if member.place.slot.as_deref() == Some(slot) && !member.away {
                member.heard = now;
            }
        }
    }
}

/// Leaves out gathers of another version, and tells which one of several with the same label stands by.
pub(super) fn fitting(present: Vec<GatherPresence>, tell: impl Fn(&str)) -> Vec<GatherPresence> {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    let mut fitting: Vec<GatherPresence> = Vec::new();
    for gather in present {
        if gather.version != OWN {
            tell(&format!(
                "gather '{}': it runs lgoose {}, and this is {OWN}: it was left out",
                gather.name, gather.version
            ));
            continue;
        }
        for known in &fitting {
            for label in known.labels.intersection(&gather.labels) {
                tell(&format!(
                    "gathers '{}' and '{}' both have the label '{label}': the first adds up its workers, the second \
                     stands by",
                    known.name, gather.name
                ));
            }
        }
        fitting.push(gather);
    }
    fitting
}

/// Returns whether a gather adds up the figures of workers with these labels.
pub(super) fn fits(gather: &GatherPresence, labels: &BTreeMap<String, String>) -> bool {
    let mut texts = label_texts(labels);
    texts.any(|label| gather.labels.contains(&label))
}

/// Asks a gather to add up a slot.
pub(super) async fn ask(broker: &Broker, id: &str, run: &str, slot: &str) -> Result<(), String> {
    let request = GatherRequest::Gather {
        run: run.to_owned(),
        slot: slot.to_owned(),
    };
    let asked = broker.reply(names::gather(id), &request, ANSWER).await;
    asked.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn gather(name: &str, version: &str, labels: &[&str]) -> GatherPresence {
        GatherPresence {
            id: name.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            labels: labels.iter().map(ToString::to_string).collect(),
            runs: Vec::new(),
            wall: 0,
        }
    }

    #[test]
    fn gathers_of_another_version_are_left_out_and_those_that_share_a_label_are_told() {
        let own = env!("CARGO_PKG_VERSION");
        let present = vec![
            gather("a", own, &["region=eu", "region=ap"]),
            gather("b", "0.0.9", &["region=us"]),
            gather("c", own, &["region=ap", "region=us"]),
        ];
        let told = RefCell::new(Vec::new());
        let fitting = fitting(present, |text| told.borrow_mut().push(text.to_owned()));
        let names: Vec<&str> = fitting.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["a", "c"]);
        let expected = [
            format!("gather 'b': it runs lgoose 0.0.9, and this is {own}: it was left out"),
            "gathers 'a' and 'c' both have the label 'region=ap': the first adds up its workers, the second stands by"
                .to_owned(),
        ];
        assert_eq!(*told.borrow(), expected);
        let of = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let first = |labels| {
            fitting
                .iter()
                .find(|one| fits(one, &labels))
                .map(|one| &*one.name)
        };
        assert_eq!(first(of("region", "us")), Some("c"));
        assert_eq!(first(of("region", "ap")), Some("a"));
        assert_eq!(first(of("zone", "eu")), None);
    }
}
