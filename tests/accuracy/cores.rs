//! Who runs on which core: work on one that busy loops keep from it, and work on the others.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Niceness with which a thread has a tenth of the weight of one that computes.
const NICE: i32 = 10;

/// The last core, and all but that; where there is only one, that is both.
fn last_and_others() -> (CpuSet, CpuSet) {
    let all = sched_getaffinity(None).expect("a thread knows its cores");
    let last = (0..CpuSet::MAX_CPU).rev().find(|core| all.is_set(*core));
    let last = last.expect("a thread has a core");
    let (mut one, mut others) = (CpuSet::new(), all);
    one.set(last);
    if all.count() > 1 {
        others.unset(last);
    }
    (one, others)
}

/// What a thread starts has its cores.
fn pin(cores: &CpuSet) {
    sched_setaffinity(None, cores).expect("cores that it had before");
}

/// Does what it is to do on one core, where three threads compute as soon as it is ready, and come before it: once it sleeps,
/// it is not woken in time.
pub(crate) fn beside_busy_loops<T: Send>(
    is_ready: impl Fn() -> bool + Sync,
    work: impl FnOnce() -> T + Send,
) -> T {
    let (one, _) = last_and_others();
    let over = AtomicBool::new(false);
    let is_over = || over.load(Ordering::Relaxed);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                pin(&one);
                // What it takes to get ready is not the same on all machines.
                while !is_ready() && !is_over() {
                    thread::sleep(Duration::from_millis(5));
                }
                while !is_over() {
                    std::hint::spin_loop();
                }
            });
        }
        let working = scope.spawn(|| {
            pin(&one);
            // Of this thread and of what it starts.
            setpriority_process(None, NICE).expect("everyone may be nicer");
            work()
        });
        let done = working.join();
        over.store(true, Ordering::Relaxed);
        done.expect("it does not panic")
    })
}

/// Does what it is to do on the cores that [`beside_busy_loops`] leaves alone.
pub(crate) fn away_from_busy_loops<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let (_, others) = last_and_others();
    thread::scope(|scope| {
        let working = scope.spawn(|| {
            pin(&others);
            work()
        });
        working.join().expect("it does not panic")
    })
}
