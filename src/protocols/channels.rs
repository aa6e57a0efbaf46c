//! The channels of a user: connections that a call has opened and that later calls use, until one of them closes it or the
//! user ends.

use crate::http::{ErrorClass, Failure};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::rc::Rc;

/// The most channels that a user may have open.
const MOST: usize = 100;

/// The number of a channel among those of its user, from 1; none is given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelId(pub u64);

/// The open channels of a user.
#[derive(Default)]
pub struct Channels {
    open: RefCell<BTreeMap<ChannelId, Rc<dyn Any>>>,
    opened: Cell<u64>,
}

impl Debug for Channels {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let open = self.open.borrow();
        formatter.debug_set().entries(open.keys()).finish()
    }
}

impl Channels {
    /// Keeps a channel open for later calls.
    ///
    /// # Errors
    /// The user has 100 channels open already.
    pub fn open(&self, channel: impl Any) -> Result<ChannelId, Failure> {
        let mut open = self.open.borrow_mut();
        if open.len() >= MOST {
            let detail = format!("the user has {MOST} channels open: close some");
            return Err(Failure::new(ErrorClass::Connect, detail));
        }
        let id = ChannelId(self.opened.get() + 1);
        self.opened.set(id.0);
        open.insert(id, Rc::new(channel));
        Ok(id)
    }

    /// Returns an open channel.
    ///
    /// # Errors
    /// There is none of that number and type, or it is closed.
    pub fn get<T: Any>(&self, id: ChannelId) -> Result<Rc<T>, Failure> {
        let channel = self.open.borrow().get(&id).cloned();
        let channel = channel.and_then(|channel| channel.downcast().ok());
        channel.ok_or_else(|| Failure::new(ErrorClass::ClosedEarly, "the channel is closed"))
    }

    /// Closes a channel once no call uses it any more; one that is closed already stays so.
    pub fn close(&self, id: ChannelId) {
        let closed = self.open.borrow_mut().remove(&id);
        drop(closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_found_by_its_number_and_type_until_it_is_closed() {
        let channels = Channels::default();
        let first = channels.open("one".to_owned()).expect("there is room");
        let second = channels.open(2_u8).expect("there is room");
        assert_eq!(*channels.get::<String>(first).expect("it is open"), "one");
        assert!(channels.get::<String>(second).is_err());
        channels.close(first);
        channels.close(first);
        let gone = channels.get::<String>(first).expect_err("it is closed");
        assert_eq!(gone.to_string(), "closed early: the channel is closed");
        // A number is not given again.
        assert_eq!(channels.open(()).expect("there is room"), ChannelId(3));
    }

    #[test]
    fn a_user_has_a_hundred_channels_at_most() {
        let channels = Channels::default();
        let all: Vec<_> = (0..MOST).map(|_| channels.open(())).collect();
        assert!(all.iter().all(Result::is_ok));
        let refused = channels.open(()).expect_err("there are too many");
        assert!(refused.is_connect(), "{refused}");
        channels.close(ChannelId(7));
        assert!(channels.open(()).is_ok());
    }
}
