//! Channels between a shard and the director, and between shards.

use crate::load_model::dispatcher::Transfers;
use crate::messages::departures::Departures;
use crate::messages::directive::Directive;
use crate::messages::shard_event::{ShardEvent, ShardEventKind};
use lgoose_metrics::{Delivery, Delta, Recorder};
use std::cell::RefCell;
use tokio::sync::{mpsc, watch};

/// Channels of a shard to the director and to other shards.
pub struct Channels {
    shard: usize,
    pub(crate) directives: watch::Receiver<Directive>,
    pub(crate) transfers: Transfers,
    signals: mpsc::UnboundedSender<ShardEvent>,
    /// Merged deltas, emptied for reuse.
    returned: mpsc::UnboundedReceiver<Box<Delta>>,
    /// Sequence number of the latest delta.
    sequence: u64,
    /// Whether the shard has sent its last event.
    ended: bool,
}

impl Channels {
    pub(crate) fn new(
        shard: usize,
        directives: watch::Receiver<Directive>,
        transfers: Transfers,
        signals: mpsc::UnboundedSender<ShardEvent>,
        returned: mpsc::UnboundedReceiver<Box<Delta>>,
    ) -> Channels {
        Channels {
            shard,
            directives,
            transfers,
            signals,
            returned,
            sequence: 0,
            ended: false,
        }
    }

    /// Returns this shard's number and the channel for its events to the director.
    pub(super) fn to_director(&self) -> (usize, mpsc::UnboundedSender<ShardEvent>) {
        (self.shard, self.signals.clone())
    }

    /// Sends an event; a closed channel means that the run is over.
    pub(super) fn send(&self, kind: ShardEventKind) {
        let from = self.shard;
        let _over = self.signals.send(ShardEvent { from, kind });
    }

    pub(super) fn hand_over(&mut self, recorder: &RefCell<Recorder>) {
        let mut recorder = recorder.borrow_mut();
        while let Ok(delta) = self.returned.try_recv() {
            recorder.recycle(*delta);
        }
        self.sequence += 1;
        self.send(ShardEventKind::Delivery {
            sequence: self.sequence,
            delivery: Delivery::Shard(Box::new(recorder.take())),
        });
    }

    pub(super) fn end(&mut self, departures: Departures) {
        self.ended = true;
        self.send(ShardEventKind::Ended {
            departures,
            at: None,
        });
    }
}

impl Drop for Channels {
    /// Sends a last event if none was sent, however the shard ended: the director must not wait for it.
    fn drop(&mut self) {
        if !self.ended {
            self.send(ShardEventKind::Lost);
        }
    }
}
