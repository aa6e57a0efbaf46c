//! Replacement of a lost worker by a free one.

use super::hand_out::hand_to;
use super::pump::{ANSWER, PackedPlan, Pump};
use super::recruit::claim_one;
use super::roll::Member;
use crate::engine::SignalKind;
use crate::gaggle::messages::{LineKind, RequestKind};
use tokio::time::Instant;

impl Pump {
    /// Lets a free worker take the place of another.
    pub(super) async fn replace(&mut self, number: usize) {
        let known: Vec<String> = self
            .roll
            .0
            .iter()
            .map(|one| one.presence.id.clone())
            .collect();
        let threads = self.roll.0[number].shards.len() as u64;
        let lost = self.roll.0[number].name().to_owned();
        let Some(presence) = claim_one(&self.line.broker, &self.line.run, threads, &known).await
        else {
            let text = format!("no free worker could take the place of '{lost}'");
            return self.signal_as_seen(number, SignalKind::Warning(text));
        };
        let name = presence.name.clone();
        let mut member = self.roll.successor(number, presence);
        if let Err(why) = self.bring_in(&mut member).await {
            let release = self.request(RequestKind::Release);
            // A worker that is gone needs no release.
            let _gone = self
                .line
                .broker
                .request(&member.presence.id, &release, ANSWER)
                .await;
            let text = format!("worker '{name}' could not take the place of '{lost}': {why}");
            return self.signal_as_seen(number, SignalKind::Warning(text));
        }
        let identity = member.identity();
        let recorded = member.recorded();
        let new = self.roll.replace(number, member);
        let text = format!("worker '{name}' took the place of '{lost}'");
        let line = LineKind::Joined {
            in_place_of: number,
            member: Box::new(recorded),
            text: text.clone(),
        };
        self.chronicle.write(self.now(), line);
        self.signal(new, SignalKind::Joined { identity, text });
    }

    /// Gives a worker that joins a running run everything that the others have.
    async fn bring_in(&self, member: &mut Member) -> Result<(), String> {
        let Some(PackedPlan { number, bytes, .. }) = &self.plan else {
            return Err("the plan is not here".to_owned());
        };
        let offset = hand_to(&self.line.broker, &self.line.run, member, bytes, 0).await?;
        if *number > 0 {
            hand_to(&self.line.broker, &self.line.run, member, bytes, *number).await?;
        }
        let id = member.presence.id.clone();
        if let Some(shared) = &self.shared {
            let share = self.request(RequestKind::Share(shared.clone()));
            self.line.broker.request(&id, &share, ANSWER).await?;
        }
        let begin = self.begin_request();
        self.line.broker.request(&id, &begin, ANSWER).await?;
        member.offset = offset;
        member.heard = Instant::now();
        Ok(())
    }
}
