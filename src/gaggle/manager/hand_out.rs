//! Handing out of the plan: sends a version of it to workers in pieces, and collects their replies.

use super::roll::{RegisteredWorker, WorkerRegistry};
use super::terms::PlanPacker;
use crate::engine::PlanVersion;
use crate::error::{Error, Trouble};
use crate::gaggle::broker::Broker;
use crate::gaggle::clock::ClockOffset;
use crate::gaggle::messages::{RequestKind, WorkerReply, WorkerRequest};
use futures_util::StreamExt as _;
use std::time::Duration;

/// Time limit for a worker to take one piece.
const PIECE: Duration = Duration::from_secs(20);
/// Time limit for a worker to load the plan.
const LOAD: Duration = Duration::from_secs(120);
/// Number of workers that are served at a time.
const AT_A_TIME: usize = 32;

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

    /// Replaces this version by another one, which all workers that are present have loaded then.
    ///
    /// # Errors
    /// Trouble as with [`new`](PackedPlan::new) and [`hand_out`](PackedPlan::hand_out); then this version stays.
    pub(super) async fn replace(
        &mut self,
        broker: &Broker,
        run: &str,
        roll: &mut WorkerRegistry,
        plan_version: &PlanVersion,
    ) -> Result<(), Error> {
        let next = PackedPlan::new(self.pack.clone(), plan_version)?;
        next.hand_out(broker, run, roll).await?;
        *self = next;
        Ok(())
    }

    /// Sends this version to all workers that are present.
    ///
    /// # Errors
    /// Trouble that names each worker that cannot load the plan, and why.
    pub(super) async fn hand_out(
        &self,
        broker: &Broker,
        run: &str,
        roll: &mut WorkerRegistry,
    ) -> Result<(), Error> {
        let present = roll.0.iter().enumerate();
        let present = present.filter(|(_, member)| !member.away && !member.replaced);
        let handing = present.map(|(at, member)| async move {
            (at, self.send(broker, run, member, self.number).await)
        });
        let all: Vec<_> = futures_util::stream::iter(handing)
            .buffer_unordered(AT_A_TIME)
            .collect()
            .await;
        let mut refused = Vec::new();
        for (at, loaded) in all {
            match loaded {
                Ok(Some(offset)) => roll.0[at].offset = Some(offset),
                Ok(None) => {}
                Err(why) => refused.push(format!("worker '{}': {why}", roll.0[at].name())),
            }
        }
        if refused.is_empty() {
            return Ok(());
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
