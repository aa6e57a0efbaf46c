//! Handing out of the plan: sends a version of it to workers in pieces, and collects their replies.

use super::pump::Pump;
use super::roll::{Member, Roll};
use crate::control::Refusal;
use crate::engine::Offer;
use crate::error::{Error, Trouble};
use crate::gaggle::broker::Broker;
use crate::gaggle::clock::Offset;
use crate::gaggle::messages::{Reply, Request, RequestKind};
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for a worker to take one piece.
const PIECE: Duration = Duration::from_secs(20);
/// Time limit for a worker to load the plan.
const LOAD: Duration = Duration::from_secs(120);
/// Number of workers that are served at a time.
const AT_A_TIME: usize = 32;

/// Sends that version of the plan to all workers that are present.
///
/// # Errors
/// Trouble that names each worker that cannot load the plan, and why.
pub(super) async fn hand_out(
    broker: &Broker,
    run: &str,
    roll: &mut Roll,
    packed: &[u8],
    number: u64,
) -> Result<(), Error> {
    let present = roll.0.iter().enumerate();
    let present = present.filter(|(_, member)| !member.away && !member.replaced);
    let handing = present.map(|(at, member)| async move {
        (at, hand_to(broker, run, member, packed, number).await)
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
    refused.sort();
    match refused.len() {
        0 => Ok(()),
        _ => Err(Trouble::new(format!(
            "the plan does not load everywhere: {}",
            refused.join("; ")
        ))
        .into()),
    }
}

/// Sends a version of the plan to one worker, and returns the offset of its clock if that was measured.
pub(super) async fn hand_to(
    broker: &Broker,
    run: &str,
    member: &Member,
    packed: &[u8],
    number: u64,
) -> Result<Option<Offset>, String> {
    let ask = async |kind: RequestKind, within: Duration| {
        let request = Request {
            run: run.to_owned(),
            kind,
        };
        broker.request(&member.presence.id, &request, within).await
    };
    for (at, bytes) in packed.chunks(broker.most_bytes()).enumerate() {
        let piece = RequestKind::Piece {
            plan_version: number,
            first: at == 0,
            bytes: bytes.to_vec(),
        };
        ask(piece, PIECE).await?;
    }
    let load = RequestKind::Load {
        plan_version: number,
        place: (number == 0).then(|| member.place.clone()),
    };
    match ask(load, LOAD).await? {
        Reply::Loaded(offset) => Ok(offset),
        _ => Err("it gave an unexpected answer".to_owned()),
    }
}

impl Pump {
    /// Sends another version of the plan to all workers, and offers it to the director once they have loaded it.
    pub(super) async fn hand_out(&mut self, offer: Offer) {
        let Offer {
            plan_version,
            reply,
        } = offer;
        let number = plan_version.number;
        let Some(plan) = &mut self.plan else {
            let _unheard = reply.send(Err(Refusal::NoReload));
            return;
        };
        let loaded = async {
            let packed = (plan.pack)(&plan_version)?;
            hand_out(
                &self.line.broker,
                &self.line.run,
                &mut self.roll,
                &packed,
                number,
            )
            .await?;
            Ok::<_, Error>(packed)
        };
        let packed = match loaded.await {
            Ok(packed) => packed,
            Err(error) => {
                let _unheard = reply.send(Err(Refusal::Plan(Arc::new(error))));
                return;
            }
        };
        (plan.number, plan.bytes) = (number, packed);
        let loaded = self.ends.loaded.clone();
        tokio::spawn(async move {
            let _unheard = reply.send(loaded.offer(plan_version).await);
        });
    }
}
