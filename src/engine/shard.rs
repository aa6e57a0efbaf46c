//! A shard: one thread with one current-thread runtime, its users as local tasks, and its recorder. Users
//! never move between shards, so nothing on the way of a request is shared with another thread.

use super::run::Plant;
use super::user::{Role, Shared, User};
use crate::error::Error;
use crate::metrics::{Delta, Recorder};
use crate::plan::Schedule;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, LocalSet};

/// How often a shard hands over its figures.
const TICK: Duration = Duration::from_millis(250);

/// What the run tells its shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Go,
    Stop,
    Abort,
}

/// What a shard tells the run.
#[derive(Debug)]
pub(super) enum Message {
    /// The figures of the shard of that number since the last one.
    Delta(usize, Box<Delta>),
    /// The shard cannot go on.
    Failed(Error),
}

/// The shard that a user belongs to: the digit sum of its number in base `shards`. Every run of `shards`
/// users is spread over all of them, and no scenario that takes every second or fourth user ends up on one.
pub(super) fn shard_of(user: u64, shards: usize) -> usize {
    let base = shards as u64;
    if base < 2 {
        return 0;
    }
    let mut rest = user;
    let mut sum = 0;
    while rest > 0 {
        sum += rest % base;
        rest /= base;
    }
    (sum % base) as usize
}

/// How a shard and the run talk.
pub(super) struct Wires {
    pub(super) orders: watch::Receiver<Order>,
    pub(super) messages: mpsc::UnboundedSender<Message>,
    /// Merged deltas, emptied for reuse.
    pub(super) returned: mpsc::UnboundedReceiver<Box<Delta>>,
}

impl Wires {
    /// A closed channel means that the run is over.
    fn send(&self, message: Message) {
        let _over = self.messages.send(message);
    }

    fn hand_over(&mut self, index: usize, recorder: &RefCell<Recorder>) {
        let mut recorder = recorder.borrow_mut();
        while let Ok(delta) = self.returned.try_recv() {
            recorder.recycle(*delta);
        }
        self.send(Message::Delta(index, Box::new(recorder.take())));
    }
}

/// Runs the users of one shard until the last has ended.
pub(super) fn run_shard(index: usize, plant: &Arc<Plant>, mut wires: Wires) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let message = format!("cannot start a thread's runtime: {error}");
            return wires.send(Message::Failed(Error::Trouble(message)));
        }
    };
    let mut recorder = Recorder::new(index);
    let roles = roles(plant, &mut recorder);
    let shared = Shared::new(plant, recorder, plant.pulses[index].clone());
    let local = LocalSet::new();
    runtime.block_on(local.run_until(drive(index, plant, &roles, &shared, &mut wires)));
    // Tasks that were aborted count their requests when they are dropped.
    drop((local, runtime));
    wires.hand_over(index, &shared.recorder);
}

fn roles(plant: &Plant, recorder: &mut Recorder) -> Vec<Rc<Role>> {
    let mut role = |scenario: &crate::plan::Scenario, host: &String| {
        let tasks = scenario
            .tasks
            .iter()
            .map(|task| recorder.task(&scenario.name, &task.title()));
        Rc::new(Role {
            tasks: tasks.collect(),
            schedule: Schedule::new(scenario),
            scenario: scenario.clone(),
            host: host.clone(),
        })
    };
    plant
        .plan
        .scenarios
        .iter()
        .zip(&plant.hosts)
        .map(|(scenario, host)| role(scenario, host))
        .collect::<Vec<_>>()
}

async fn drive(
    index: usize,
    plant: &Arc<Plant>,
    roles: &[Rc<Role>],
    shared: &Rc<Shared>,
    wires: &mut Wires,
) {
    let mut users = JoinSet::new();
    let mut numbers = (0..plant.config.users)
        .filter(|user| shard_of(*user, plant.shards) == index)
        .peekable();
    let mut tick = tokio::time::interval(TICK);
    let mut going = true;
    loop {
        let next = numbers
            .peek()
            .filter(|_| going)
            .and_then(|user| plant.shape.start_of(*user));
        if next.is_none() && users.is_empty() {
            return;
        }
        tokio::select! {
            biased;
            order = wires.orders.changed() => match order.map(|()| *wires.orders.borrow_and_update()) {
                Ok(Order::Go) => {}
                Ok(Order::Stop) => {
                    going = false;
                    shared.stop.tell();
                }
                Ok(Order::Abort) | Err(_) => return users.abort_all(),
            },
            () = until(plant, next), if next.is_some() => {
                if let Some(number) = numbers.next() {
                    let role = roles[plant.deal.scenario_of(number)].clone();
                    match User::new(number + 1, role, shared.clone()) {
                        Ok(user) => {
                            users.spawn_local(user.live());
                        }
                        Err(error) => {
                            wires.send(Message::Failed(error));
                            going = false;
                        }
                    }
                }
            }
            Some(ended) = users.join_next(), if !users.is_empty() => if let Err(error) = ended && error.is_panic() {
                let message = "a user ended by a fault in lgoose; please report it";
                wires.send(Message::Failed(Error::Trouble(message.to_owned())));
            },
            _ = tick.tick() => wires.hand_over(index, &shared.recorder),
        }
    }
}

/// Waits for the moment a user is due; a late one is due at once.
async fn until(plant: &Plant, due: Option<Duration>) {
    if let Some(due) = due {
        tokio::time::sleep_until((plant.begin + due).into()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_of_users_is_spread_over_all_shards() {
        for shards in 1..6 {
            for start in (0..60).step_by(shards) {
                let mut seen: Vec<usize> = (start..start + shards as u64)
                    .map(|user| shard_of(user, shards))
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..shards).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn scenarios_that_take_every_second_or_fourth_user_are_on_both_shards() {
        for step in [2, 4, 8] {
            let on_first = (0..64).filter(|n| shard_of(n * step, 2) == 0).count();
            assert_eq!(on_first, 32, "every {step}th user");
        }
    }
}
