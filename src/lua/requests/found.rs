//! The URLs that a user has found on its latest pages by `links` and `assets`, so that a request for one of them can
//! say which page it comes from. Only their hashes are kept: once in 2^64 that would name the wrong page.

use super::op::Op;
use super::request::RequestOp;
use crate::http::{Extras, Referrer};
use crate::lua::limits::Held;
use foldhash::quality::FixedState;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::rc::Rc;

/// The number of lists that are remembered: links and assets of two pages.
const MOST_LISTS: usize = 4;

/// The URLs found on the latest pages.
#[derive(Debug, Default)]
pub(in crate::lua) struct Found {
    lists: VecDeque<List>,
}

/// The URLs of one list.
#[derive(Debug)]
struct List {
    page: Rc<Extras>,
    /// The hashes of the URLs, sorted.
    hashes: Box<[u64]>,
    /// Its memory counts as the plan's.
    _held: Held,
}

impl Found {
    /// Returns the memory of a list of that many URLs, in bytes.
    pub(in crate::lua) fn bytes(urls: usize) -> usize {
        size_of::<List>() + size_of::<Extras>() + urls * size_of::<u64>()
    }

    /// Remembers URLs that a page has.
    pub(in crate::lua) fn add(&mut self, page: &str, urls: &[String], held: Held) {
        let Some(referrer) = Referrer::of(page) else {
            return;
        };
        let mut hashes: Box<[u64]> = urls.iter().map(|url| hash(url)).collect();
        hashes.sort_unstable();
        if self.lists.len() == MOST_LISTS {
            self.lists.pop_back();
        }
        self.lists.push_front(List {
            page: Rc::new(Extras {
                referrer: Some(referrer),
                ..Extras::default()
            }),
            hashes,
            _held: held,
        });
    }

    /// Lets the requests of an operation say on which page their URLs were found.
    pub(in crate::lua) fn tell(&self, op: &mut Op) {
        for op in op.requests_mut() {
            self.tell_one(op);
        }
    }

    fn tell_one(&self, op: &mut RequestOp) {
        let request = &mut op.request;
        if request
            .extras
            .as_ref()
            .is_some_and(|extras| extras.referrer.is_some())
        {
            return;
        }
        let hash = hash(&request.url);
        let holds = |list: &&List| list.hashes.binary_search(&hash).is_ok();
        let Some(list) = self.lists.iter().find(holds) else {
            return;
        };
        match request.extras {
            // Most requests for assets have nothing else to say, and share it.
            None => request.extras = Some(list.page.clone()),
            Some(_) => request.extras().referrer.clone_from(&list.page.referrer),
        }
    }
}

fn hash(url: &str) -> u64 {
    FixedState::default().hash_one(url)
}
