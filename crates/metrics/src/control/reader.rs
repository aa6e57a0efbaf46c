//! Entries for any number of readers, such as lines of the log. A reader that is too slow loses the oldest entries and
//! learns how many; the sender never waits for a reader.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// A message to a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderMessage<T> {
    /// The next entry.
    Entry(T),
    /// This many entries were lost before the next one: the reader was too slow.
    Skipped(u64),
}

/// Reads all entries that are sent after it was created.
#[derive(Debug)]
pub struct Reader<T>(broadcast::Receiver<T>);

impl<T: Clone> Reader<T> {
    /// Creates a reader of what `sender` sends from now on: nothing if the sender is gone.
    pub(super) fn of(sender: &broadcast::WeakSender<T>) -> Reader<T> {
        let receiver = sender.upgrade().map(|sender| sender.subscribe());
        Reader(receiver.unwrap_or_else(|| broadcast::channel(1).1))
    }

    /// Waits for the next entry; `None` when there will be no more. Cancel safe: no entry is lost.
    pub async fn next(&mut self) -> Option<ReaderMessage<T>> {
        match self.0.recv().await {
            Ok(entry) => Some(ReaderMessage::Entry(entry)),
            Err(RecvError::Lagged(skipped)) => Some(ReaderMessage::Skipped(skipped)),
            Err(RecvError::Closed) => None,
        }
    }

    /// Returns the next entry if it has already arrived.
    pub fn ready(&mut self) -> Option<ReaderMessage<T>> {
        match self.0.try_recv() {
            Ok(entry) => Some(ReaderMessage::Entry(entry)),
            Err(TryRecvError::Lagged(skipped)) => Some(ReaderMessage::Skipped(skipped)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_loses_the_oldest_and_learns_how_many_and_another_loses_nothing() {
        let (sender, _) = broadcast::channel(2);
        let (mut slow, mut quick) = (
            Reader::of(&sender.downgrade()),
            Reader::of(&sender.downgrade()),
        );
        for n in 1..=5 {
            sender.send(n).expect("two read");
            assert_eq!(quick.ready(), Some(ReaderMessage::Entry(n)));
        }
        let received = std::iter::from_fn(|| slow.ready());
        let expected = [
            ReaderMessage::Skipped(3),
            ReaderMessage::Entry(4),
            ReaderMessage::Entry(5),
        ];
        assert_eq!(received.collect::<Vec<_>>(), expected);
    }

    #[tokio::test]
    async fn readers_end_when_nothing_more_can_come() {
        let (sender, _) = broadcast::channel::<u8>(2);
        let weak = sender.downgrade();
        let mut early = Reader::of(&weak);
        drop(sender);
        assert_eq!(early.next().await, None);
        assert_eq!(Reader::of(&weak).next().await, None);
    }
}
