//! Tests with plans that try to leave the sandbox or to keep their thread for ever: each must end as a failure of its
//! task, and the user must go on with its next.

use crate::fixture::{recorder, settled, setup, start};
use crate::{Heartbeat, Op, RaisedError, Step, Vm, VmSetup, load};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

mod calls;
mod code;
mod escapes;
mod shortage;

const SHORT: Duration = Duration::from_millis(50);
/// The time for tasks that must not be ended by time.
const LONG_TIME: Duration = Duration::from_secs(60);
const SPIN: &str = "local function spin() while true do end end";
const TIME: &str = "the task ran for 0.05 s of Lua without waiting ('--lua-time')";
const MEMORY: &str = "not enough memory: a user may hold 16 MiB ('--lua-memory')";

fn vm(source: &str, time: Duration) -> Vm {
    let (program, _, _) =
        load("p.lua", source, BTreeMap::new(), 1).unwrap_or_else(|error| panic!("{error}"));
    let heartbeat = Arc::<Heartbeat>::default();
    let recorder = recorder();
    let setup = VmSetup {
        memory: 16 << 20,
        time,
        ..setup(1, &recorder, &heartbeat)
    };
    Vm::new(&program, setup).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a task of these lines, the first of which is line 3, then another one in the same VM.
fn attempt(lines: &str) -> Option<RaisedError> {
    attempt_within(SHORT, lines)
}

fn attempt_within(time: Duration, lines: &str) -> Option<RaisedError> {
    let source = format!(
        "{SPIN} local main = coroutine.running()\ntask {{ function(user)\n{lines}\nend }}\n\
         task {{ function(user)\n  assert(pcall(error, \"x\") == false)\n  local sum = 0\n  \
         for n = 1, 1000 do sum = sum + n end\n  assert(sum == 500500)\nend }}"
    );
    let mut vm = vm(&source, time);
    let raised = match start(&mut vm, 0, 1) {
        Step::Raised(raised) => Some(*raised),
        Step::Done => None,
        Step::Preempted => unreachable!("it goes on"),
        Step::Op(op) => panic!("{lines}\nasks for {op:?}"),
    };
    for _ in 0..2 {
        let next = start(&mut vm, 1, 1);
        assert!(matches!(next, Step::Done), "{lines}\nand then {next:?}");
    }
    raised
}

fn ends_by(message: &str, attempts: &[&str]) {
    let time = if message == TIME { SHORT } else { LONG_TIME };
    for lines in attempts {
        let raised =
            attempt_within(time, lines).unwrap_or_else(|| panic!("{lines}\nended by itself"));
        assert_eq!(raised.message, message, "{lines}\n{raised:?}");
    }
}
