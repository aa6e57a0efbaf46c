//! The URLs that a user has found on its latest pages by `links` and `assets`, so that a request for one of them can
//! say which page it comes from. Only their hashes are kept: once in 2^64 that would name the wrong page.

use super::op::Op;
use super::request::RequestOp;
use crate::limits::HeldBytes;
use foldhash::quality::FixedState;
use lgoose_html::{PageUrls, ReferrerPolicy};
use lgoose_http::{Referrer, RequestExtras};
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::rc::Rc;

/// The number of lists that are remembered: links and assets of two pages.
const MOST_LISTS: usize = 4;

/// The URLs found on the latest pages.
#[derive(Debug, Default)]
pub(crate) struct RecentUrls {
    lists: VecDeque<UrlList>,
}

/// The URLs of one list.
#[derive(Debug)]
struct UrlList {
    page: Rc<RequestExtras>,
    /// The hashes of the URLs, sorted.
    hashes: Box<[u64]>,
    /// The URLs whose requests have another referrer policy than the usual one, sorted.
    others: Box<[(u64, ReferrerPolicy)]>,
    /// Its memory counts as the plan's.
    _held: HeldBytes,
}

impl RecentUrls {
    /// Returns the memory of a list of the URLs of a page, at most, in bytes.
    pub(crate) fn bytes(found: &PageUrls) -> usize {
        let special = found.policies.iter().flatten().count();
        size_of::<UrlList>()
            + size_of::<RequestExtras>()
            + found.urls.len() * size_of::<u64>()
            + special * size_of::<(u64, ReferrerPolicy)>()
    }

    /// Remembers URLs that a page has. `usual` is the page's policy for all of them.
    pub(crate) fn add(
        &mut self,
        page: &str,
        usual: ReferrerPolicy,
        found: &PageUrls,
        held: HeldBytes,
    ) {
        let Some(referrer) = Referrer::of(page, usual) else {
            return;
        };
        let mut hashes: Box<[u64]> = found.urls.iter().map(|url| hash(url)).collect();
        let special = hashes.iter().zip(&found.policies);
        let special = special.filter_map(|(hash, policy)| Some((*hash, (*policy)?)));
        let mut others: Box<[_]> = special.filter(|(_, policy)| *policy != usual).collect();
        hashes.sort_unstable();
        others.sort_unstable_by_key(|(hash, _)| *hash);
        if self.lists.len() == MOST_LISTS {
            self.lists.pop_back();
        }
        self.lists.push_front(UrlList {
            page: Rc::new(RequestExtras {
                referrer: Some(referrer),
                ..RequestExtras::default()
            }),
            hashes,
            others,
            _held: held,
        });
    }

    /// Lets the requests of an operation say on which page their URLs were found.
    pub(crate) fn set_referrers(&self, op: &mut Op) {
        for op in op.requests_mut() {
            self.set_referrer(op);
        }
    }

    fn set_referrer(&self, op: &mut RequestOp) {
        let request = &mut op.request;
        if request
            .extras
            .as_ref()
            .is_some_and(|extras| extras.referrer.is_some())
        {
            return;
        }
        let hash = hash(&request.url);
        let holds = |list: &&UrlList| list.hashes.binary_search(&hash).is_ok();
        let Some(list) = self.lists.iter().find(holds) else {
            return;
        };
        let other = list.others.binary_search_by_key(&hash, |(hash, _)| *hash);
        if let Ok(at) = other {
            let page = list.page.referrer.as_ref();
            request.extras().referrer = page.map(|page| page.with(list.others[at].1));
            return;
        }
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
