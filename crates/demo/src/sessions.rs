//! The sessions of logged-in users. Driven by a site on each request that carries a session cookie; knows no page.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The number of locks that sessions are spread over, so that threads seldom meet.
const SHARDS: usize = 64;
/// The number of sessions that a shard keeps; beyond that, unused ones are logged out. 65,536 in all.
const SHARD_LIMIT: usize = 1024;

/// A logged-in user.
#[derive(Debug, Clone)]
pub(super) struct LoggedInUser {
    pub(super) uid: u32,
    /// The value of the session cookie.
    pub(super) session: Arc<str>,
    /// The form_token of all forms of the session.
    pub(super) form_token: Arc<str>,
}

/// The sessions of a site.
pub(super) struct Sessions {
    /// The locks, taken only for requests of logged-in users, or by a login.
    shards: Vec<Mutex<SessionShard>>,
}

#[derive(Default)]
struct SessionShard {
    sessions: HashMap<Arc<str>, SessionEntry>,
    /// The keys of the sessions, the next to be considered first. Holds every session of the map, and those that
    /// logged out since.
    ages: VecDeque<Arc<str>>,
}

struct SessionEntry {
    member: LoggedInUser,
    /// The notice for the next page.
    notice: Option<String>,
    /// Whether it was used since it was last considered for logging out.
    is_used: bool,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Sessions {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Logs a user in, once more if need be.
    pub(super) fn open(&self, uid: u32) -> LoggedInUser {
        let member = LoggedInUser {
            uid,
            session: random_key().into(),
            form_token: random_key().into(),
        };
        let mut shard = self.shard(&member.session);
        shard.make_room();
        shard.ages.push_back(member.session.clone());
        let session = SessionEntry {
            member: member.clone(),
            notice: None,
            is_used: false,
        };
        shard.sessions.insert(member.session.clone(), session);
        member
    }

    /// The user whose session cookie has that value.
    pub(super) fn member(&self, session: &str) -> Option<LoggedInUser> {
        let mut shard = self.shard(session);
        let session = shard.sessions.get_mut(session)?;
        session.is_used = true;
        Some(session.member.clone())
    }

    /// Keeps a notice for the member's next page, such as that a comment was posted.
    pub(super) fn set_notice(&self, member: &LoggedInUser, notice: String) {
        if let Some(session) = self
            .shard(&member.session)
            .sessions
            .get_mut(&member.session)
        {
            session.notice = Some(notice);
        }
    }

    /// Takes the notice for the member's next page.
    pub(super) fn take_notice(&self, member: &LoggedInUser) -> Option<String> {
        let mut shard = self.shard(&member.session);
        let session = shard.sessions.get_mut(&member.session);
        session.and_then(|session| session.notice.take())
    }

    /// Logs a member out.
    pub(super) fn close(&self, member: &LoggedInUser) {
        self.shard(&member.session).sessions.remove(&member.session);
    }

    fn shard(&self, session: &str) -> MutexGuard<'_, SessionShard> {
        // Session keys are random: their first bytes spread them evenly.
        let sum: usize = session.bytes().take(4).map(usize::from).sum();
        let shard = self.shards[sum % SHARDS].lock();
        shard.unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionShard {
    /// Ends sessions until there is room for one more: the oldest first, but a used one is spared once, so that users
    /// who stay outlast any number of logins by others (the "clock" of page caches).
    fn make_room(&mut self) {
        while self.ages.len() >= SHARD_LIMIT
            && let Some(oldest) = self.ages.pop_front()
        {
            match self.sessions.get_mut(&oldest) {
                Some(session) if session.is_used => {
                    session.is_used = false;
                    self.ages.push_back(oldest);
                }
                _ => drop(self.sessions.remove(&oldest)),
            }
        }
    }
}

/// A key that nobody guesses, as Drupal makes them for sessions, form_build_id and form_token: 32 random bytes in
/// base64url.
pub(super) fn random_key() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lasts_until_it_is_closed() {
        let sessions = Sessions::new();
        let member = sessions.open(7);
        assert_eq!(sessions.member(&member.session).map(|m| m.uid), Some(7));
        sessions.close(&member);
        assert!(sessions.member(&member.session).is_none());
        assert!(sessions.member("").is_none());
    }

    #[test]
    fn a_notice_is_shown_once() {
        let sessions = Sessions::new();
        let member = sessions.open(7);
        assert_eq!(sessions.take_notice(&member), None);
        sessions.set_notice(&member, "posted".to_owned());
        assert_eq!(sessions.take_notice(&member).as_deref(), Some("posted"));
        assert_eq!(sessions.take_notice(&member), None);
    }

    #[test]
    fn unused_sessions_go_when_there_are_too_many_and_used_ones_stay() {
        let sessions = Sessions::new();
        let (used, unused) = (sessions.open(3), sessions.open(4));
        for _ in 0..3 * SHARDS * SHARD_LIMIT {
            sessions.open(2);
            assert!(sessions.member(&used.session).is_some());
        }
        assert!(sessions.member(&unused.session).is_none());
        let held =
            |shard: &Mutex<SessionShard>| shard.lock().expect("no test panicked").sessions.len();
        assert!(
            sessions
                .shards
                .iter()
                .all(|shard| held(shard) <= SHARD_LIMIT)
        );
    }
}
