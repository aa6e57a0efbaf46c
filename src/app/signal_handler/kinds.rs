//! Signals that are not always an interrupt: the end of the terminal, and notices that the process will be killed.

use lgoose_base::machine;
use rustix::process::Signal as RawSignal;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// Time within which the end of a terminal may be signalled twice: by the shell and by the kernel.
const ECHO: Duration = Duration::from_secs(2);

/// The signals that the terminal has gone.
#[derive(Debug)]
pub(super) struct Hangups {
    /// `None` in a process that was started to outlive its terminal, as by 'nohup'.
    signals: Option<Signal>,
    /// Time of the latest.
    latest: Option<Instant>,
}

/// Effect of a signal that the terminal has gone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HangupEffect {
    /// The previous signal, sent again.
    Echo,
    /// The run goes on without a terminal.
    Outlived,
    /// It ends the run as Ctrl-C does.
    Interrupt,
}

impl Hangups {
    pub(super) fn listen() -> std::io::Result<Hangups> {
        Ok(Hangups {
            signals: listen_for(RawSignal::HUP).transpose()?,
            latest: None,
        })
    }

    pub(super) async fn received(&mut self) {
        match &mut self.signals {
            // A stream of signals never ends.
            Some(signals) => drop(signals.recv().await),
            None => std::future::pending().await,
        }
    }

    /// Returns the meaning of a signal that came at that time.
    pub(super) fn count(&mut self, at: Instant, outlives_terminal: bool) -> HangupEffect {
        let is_echo = self.latest.is_some_and(|latest| at < latest + ECHO);
        if is_echo {
            return HangupEffect::Echo;
        }
        let is_first = self.latest.replace(at).is_none();
        if is_first && outlives_terminal {
            return HangupEffect::Outlived;
        }
        HangupEffect::Interrupt
    }
}

/// Signals that announce that the process will be killed.
#[derive(Debug)]
pub(in crate::app) struct KillNotices {
    signals: Vec<Signal>,
    /// Whether one has come.
    came: bool,
}

impl KillNotices {
    /// Listens for the limit on CPU time, which the kernel signals again each second, and for the signals that batch
    /// schedulers send some time before they kill. Programs that are started from here inherit no listener.
    ///
    /// # Errors
    /// Returns why there can be no listener.
    pub(in crate::app) fn listen() -> std::io::Result<KillNotices> {
        const ANNOUNCE: [RawSignal; 4] = [
            RawSignal::XCPU,
            RawSignal::USR1,
            RawSignal::USR2,
            RawSignal::ALARM,
        ];
        let signals = ANNOUNCE.into_iter().filter_map(listen_for);
        Ok(KillNotices {
            signals: signals.collect::<Result<_, _>>()?,
            came: false,
        })
    }

    /// Waits for the next one.
    pub(in crate::app) async fn received(&mut self) {
        any_of(&mut self.signals).await;
    }

    /// Returns whether one that has come now is not the first: that is no second Ctrl-C.
    pub(super) fn is_repeat(&mut self) -> bool {
        std::mem::replace(&mut self.came, true)
    }
}

/// Listens for a kind of signal; `None` if this process was started to ignore that kind.
pub(in crate::app) fn listen_for(kind: RawSignal) -> Option<std::io::Result<Signal>> {
    let is_ignored = machine::ignores(kind.as_raw());
    (!is_ignored).then(|| signal(SignalKind::from_raw(kind.as_raw())))
}

/// Waits for the next signal of any kind of these.
pub(in crate::app) async fn any_of(signals: &mut [Signal]) {
    let waits = signals.iter_mut();
    let waits: Vec<_> = waits.map(|signal| Box::pin(signal.recv())).collect();
    if waits.is_empty() {
        std::future::pending().await
    } else {
        drop(futures_util::future::select_all(waits).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_has_gone_is_noticed_once_and_stops_what_outlives_it_when_signalled_again() {
        let mut hangups = Hangups {
            signals: None,
            latest: None,
        };
        let start = Instant::now();
        for (after, outlives_terminal, counts) in [
            (Duration::ZERO, true, HangupEffect::Outlived),
            (ECHO / 2, true, HangupEffect::Echo),
            (ECHO, true, HangupEffect::Interrupt),
            (ECHO * 3 / 2, true, HangupEffect::Echo),
            (ECHO * 2, true, HangupEffect::Interrupt),
        ] {
            let counted = hangups.count(start + after, outlives_terminal);
            assert_eq!(counted, counts, "{after:?}");
        }
        hangups.latest = None;
        assert_eq!(hangups.count(start, false), HangupEffect::Interrupt);
        assert_eq!(
            hangups.count(start, false),
            HangupEffect::Echo,
            "it aborts nothing"
        );
    }
}
