//! Handing out of the plan: sends a version of it to workers in pieces, and collects their replies.

use super::registry::{RegisteredWorker, WorkerRegistry};
use super::terms::PlanPacker;
use crate::broker::Broker;
use crate::clock::ClockOffset;
use crate::messages::{RequestKind, WorkerReply, WorkerRequest};
use futures_util::StreamExt as _;
use lgoose_base::error::{Error, Trouble};
use lgoose_engine::PlanVersion;
use std::time::Duration;

/// Time limit for a worker to take one piece.
const PIECE: Duration = Duration::from_secs(20);
/// Time limit for a worker to load the plan.
const LOAD: Duration = Duration::from_secs(120);
/// Number of workers that are served at a time.
const AT_A_TIME: usize = 32;

/// Offsets of the clocks of workers, by their numbers.
pub(super) struct ClockOffsets(pub(super) Vec<(usize, ClockOffset)>);

/// A version of the plan, packed for workers.
pub(super) struct PackedPlan {
    pack: PlanPacker,
    number: u64,
    bytes: Vec<u8>,
}

impl PackedPlan {
    /// Packs a version of the plan.
    ///
    /// # Errors
    /// Trouble with files of the plan.
    pub(super) fn new(pack: PlanPacker, plan_version: &PlanVersion) -> Result<PackedPlan, Error> {
        Ok(PackedPlan {
            bytes: pack(plan_version)?,
            number: plan_version.number,
            pack,
        })
    }

    /// Packs another version of the plan in the same way.
    ///
    /// # Errors
    /// Trouble with files of the plan.
    pub(super) fn next(&self, plan_version: &PlanVersion) -> Result<PackedPlan, Error> {
        PackedPlan::new(self.pack.clone(), plan_version)
    }

    /// Sends this version to all workers that are present, and returns the offsets of the clocks that were measured.
    ///
    /// # Errors
    /// Trouble that names each worker that cannot load the plan, and why.
    pub(super) async fn hand_out(
        &self,
        broker: &Broker,
        run: &str,
        registry: &WorkerRegistry,
    ) -> Result<ClockOffsets, Error> {
        let present = |at: &usize| !registry.0[*at].away && !registry.0[*at].replaced;
        let present: Vec<usize> = (0..registry.0.len()).filter(present).collect();
        let handing = present
            .iter()
            .copied()
            .map(|at| self.send(broker, run, &registry.0[at], self.number));
        let loaded: Vec<_> = futures_util::stream::iter(handing)
            .buffered(AT_A_TIME)
            .collect()
            .await;
        let (mut offsets, mut refused) = (Vec::new(), Vec::new());
        for (at, loaded) in present.into_iter().zip(loaded) {
            match loaded {
                Ok(offset) => offsets.extend(offset.map(|offset| (at, offset))),
                Err(why) => refused.push(format!("worker '{}': {why}", registry.0[at].name())),
            }
        }
        if refused.is_empty() {
            return Ok(ClockOffsets(offsets));
        }
        refused.sort();
        let refused = refused.join("; ");
        Err(Trouble::new(format!("the plan does not load everywhere: {refused}")).into())
    }

    /// Sends this version to a worker that joins a running run, and returns the offset of its clock if that was
    /// measured.
    ///
    /// # Errors
    /// A sentence that says why the worker does not load it.
    pub(super) async fn hand_to(
        &self,
        broker: &Broker,
        run: &str,
        member: &RegisteredWorker,
    ) -> Result<Option<ClockOffset>, String> {
        // As its first version, which assigns its place; then under its own number.
        let offset = self.send(broker, run, member, 0).await?;
        if self.number > 0 {
            self.send(broker, run, member, self.number).await?;
        }
        Ok(offset)
    }

    /// Sends this version under a number to one worker, and returns the offset of its clock if that was measured.
    async fn send(
        &self,
        broker: &Broker,
        run: &str,
        member: &RegisteredWorker,
        number: u64,
    ) -> Result<Option<ClockOffset>, String> {
        let send_request = async |kind: RequestKind, within: Duration| {
            let request = WorkerRequest::new(run, kind);
            broker.request(&member.presence.id, &request, within).await
        };
        for (at, bytes) in self.bytes.chunks(broker.most_bytes()).enumerate() {
            let piece = RequestKind::Piece {
                plan_version: number,
                first: at == 0,
                bytes: bytes.to_vec(),
            };
            send_request(piece, PIECE).await?;
        }
        let load = RequestKind::Load {
            plan_version: number,
            place: (number == 0).then(|| member.place.clone()),
        };
        match send_request(load, LOAD).await? {
            WorkerReply::Loaded(offset) => Ok(offset),
            _ => Err("it gave an unexpected answer".to_owned()),
        }
    }
}
