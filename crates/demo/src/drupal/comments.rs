//! The comments that visitors posted, the newest of each article. Driven by the site; knows no HTML.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

/// The number of locks that articles are spread over, so that threads seldom meet.
const SHARDS: usize = 64;
/// The number of comments that an article keeps and shows.
const SHOWN: usize = 20;
/// The most that a shard keeps, so that a test of many hours does not grow without end: 32 MiB in all.
const SHARD_BYTES: usize = 512 << 10;
/// The memory that a comment takes besides its text, roughly.
const OVERHEAD_BYTES: usize = 128;

/// One comment on an article.
pub(super) struct Comment {
    pub(super) cid: u64,
    pub(super) uid: u32,
    pub(super) subject: Box<str>,
    pub(super) body: Box<str>,
    pub(super) posted: Timestamp,
}

impl Comment {
    fn bytes(&self) -> usize {
        self.subject.len() + self.body.len() + OVERHEAD_BYTES
    }
}

/// The comments on all articles.
pub(super) struct Comments {
    /// The locks, each held for a moment by a page of an article; two threads seldom want the same one.
    shards: Vec<Mutex<CommentShard>>,
    last_cid: AtomicU64,
}

#[derive(Default)]
struct CommentShard {
    /// The comments by article, oldest first.
    articles: HashMap<u32, VecDeque<Comment>>,
    bytes: usize,
}

impl Comments {
    pub(super) fn new() -> Self {
        Comments {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            last_cid: AtomicU64::new(0),
        }
    }

    /// Adds a comment to article `nid` and returns its number. Older ones may have to go.
    pub(super) fn add(&self, nid: u32, uid: u32, subject: &str, body: &str) -> u64 {
        let cid = self.last_cid.fetch_add(1, Ordering::Relaxed) + 1;
        let comment = Comment {
            cid,
            uid,
            subject: subject.into(),
            body: body.into(),
            posted: Timestamp::now(),
        };
        self.shard(nid).add(nid, comment);
        cid
    }

    /// Calls `show` with each comment on article `nid`, oldest first.
    pub(super) fn each(&self, nid: u32, show: impl FnMut(&Comment)) {
        if let Some(comments) = self.shard(nid).articles.get(&nid) {
            comments.iter().for_each(show);
        }
    }

    fn shard(&self, nid: u32) -> MutexGuard<'_, CommentShard> {
        let shard = self.shards[nid as usize % SHARDS].lock();
        shard.unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommentShard {
    fn add(&mut self, nid: u32, comment: Comment) {
        self.bytes += comment.bytes();
        let comments = self.articles.entry(nid).or_default();
        comments.push_back(comment);
        if comments.len() > SHOWN {
            self.forget_oldest(nid);
        }
        while self.bytes > SHARD_BYTES && (self.forget_another(nid) || self.forget_oldest(nid)) {}
    }

    /// Drops the oldest comment of article `nid`, unless it is the only one.
    fn forget_oldest(&mut self, nid: u32) -> bool {
        let comments = self
            .articles
            .get_mut(&nid)
            .filter(|comments| comments.len() > 1);
        let Some(oldest) = comments.and_then(VecDeque::pop_front) else {
            return false;
        };
        self.bytes -= oldest.bytes();
        true
    }

    /// Drops all comments of some article other than `nid`, if there is one.
    fn forget_another(&mut self, nid: u32) -> bool {
        let other = self.articles.keys().copied().find(|other| *other != nid);
        let Some(comments) = other.and_then(|other| self.articles.remove(&other)) else {
            return false;
        };
        self.bytes -= comments.iter().map(Comment::bytes).sum::<usize>();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(comments: &Comments, nid: u32) -> Vec<String> {
        let mut bodies = Vec::new();
        comments.each(nid, |comment| bodies.push(comment.body.to_string()));
        bodies
    }

    #[test]
    fn an_article_retains_its_newest_comments_in_order() {
        let comments = Comments::new();
        for n in 0..=SHOWN {
            comments.add(5, 7, "subject", &n.to_string());
        }
        let expected: Vec<String> = (1..=SHOWN).map(|n| n.to_string()).collect();
        assert_eq!(bodies(&comments, 5), expected);
        assert!(bodies(&comments, 6).is_empty());
    }

    #[test]
    fn memory_stays_bounded_and_the_newest_comment_is_still_there() {
        let comments = Comments::new();
        let long = "x".repeat(SHARD_BYTES / 8);
        for n in 1..=100 {
            let nid = n * SHARDS as u32;
            comments.add(nid, 7, "subject", &long);
            assert_eq!(bodies(&comments, nid).len(), 1);
            assert!(comments.shard(nid).bytes <= SHARD_BYTES);
        }
        for _ in 1..=100 {
            comments.add(7, 7, "subject", &long);
            assert!(comments.shard(7).bytes <= SHARD_BYTES);
        }
    }
}
