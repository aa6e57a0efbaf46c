//! Separates the documents of a visit's pages from those of frames. Entries with one `pageref` belong to one page,
//! whose document comes first; some browsers have one `pageref` for all pages of a visit.

use crate::exchange::{ExchangeKind, RecordedExchange};
use lgoose_html::{Document, Selector};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use url::Url;

/// A shorter pause before a page means that hardly a person opened it, in milliseconds.
const PAUSE_MS: f64 = 1_000.0;
/// The memory for a page whose frames are searched.
const PAGE_BYTES: usize = 128 << 20;
/// The most pages of a recording, and the most sites that requests came from.
const MAX_PAGES: usize = 10_000;

/// The facts of an entry about its page.
#[derive(Debug, Default)]
pub(super) struct PageMark {
    /// The number of its page.
    page: Option<usize>,
    /// The frame that sent it.
    frame: Option<String>,
    /// The browser marks it as the document of a tab.
    is_top: bool,
    /// Whether it requested a page or a frame.
    pub(super) is_document: bool,
    /// The hash of the address that it came from.
    referrer: Option<u64>,
}

/// The pages of a recording, as far as its entries and its list of pages have them.
#[derive(Debug, Default)]
pub(super) struct RecordedPages {
    numbers: HashMap<String, usize>,
    /// The addresses of pages, by their names, where their titles are addresses.
    addresses: HashMap<String, Url>,
    /// Origins that requests came from, and how many did.
    sites: HashMap<String, usize>,
}

/// The document of a page.
struct PageDocument {
    /// Its place among the entries.
    at: usize,
    url: Url,
    /// The target of its redirect.
    leads_to: Option<Url>,
    frame: Option<String>,
    /// The addresses of its frames, once they are known.
    frames: OnceCell<HashSet<String>>,
    busy_until: f64,
}

impl RecordedPages {
    /// Records a page of the list.
    pub(super) fn note_page(&mut self, id: Option<String>, title: Option<String>) {
        let url = title.and_then(|title| Url::parse(title.split('#').next()?).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        if let (Some(id), Some(url)) = (id, url)
            && self.addresses.len() < MAX_PAGES
        {
            self.addresses.insert(id, url);
        }
    }

    /// Records an entry, and returns its facts about its page.
    pub(super) fn mark(
        &mut self,
        kind: ExchangeKind,
        headers: &[(String, String)],
        pageref: Option<&str>,
        frame: Option<String>,
    ) -> PageMark {
        let header = |name: &str| {
            let mut found = headers.iter().filter(|(key, _)| key == name);
            found.next().map(|(_, value)| value.as_str())
        };
        let referrer = header("referer").and_then(|referrer| Url::parse(referrer).ok());
        let origin = referrer.as_ref().filter(|_| kind != ExchangeKind::Page);
        if let Some(origin) = origin.map(|url| url.origin().ascii_serialization())
            && (self.sites.len() < MAX_PAGES || self.sites.contains_key(&origin))
        {
            *self.sites.entry(origin).or_default() += 1;
        }
        let destination = header("sec-fetch-dest");
        let next = self.numbers.len();
        PageMark {
            page: pageref
                .filter(|_| next < MAX_PAGES)
                .map(|pageref| *self.numbers.entry(pageref.to_owned()).or_insert(next)),
            frame,
            is_top: destination == Some("document"),
            referrer: referrer.as_ref().map(hash),
            is_document: kind == ExchangeKind::Page
                || matches!(destination, Some("iframe" | "frame" | "embed" | "object")),
        }
    }

    /// Returns the origin that most requests came from.
    pub(super) fn site(&self) -> Option<Url> {
        let all = self.sites.iter();
        let most = all.max_by_key(|(origin, count)| (**count, std::cmp::Reverse(origin.as_str())));
        most.and_then(|(origin, _)| Url::parse(origin).ok())
    }

    /// Turns the documents of frames into calls. Entries are in the order of their beginnings.
    pub(super) fn settle(&self, entries: &mut [(RecordedExchange, PageMark)]) {
        let addresses = self.addresses.iter();
        let addresses: HashMap<usize, &Url> = addresses
            .filter_map(|(id, url)| Some((*self.numbers.get(id)?, url)))
            .collect();
        let documents = entries.iter();
        let documents = documents.filter(|(exchange, _)| exchange.kind == ExchangeKind::Page);
        // When the first document of an origin came to a page.
        let mut came: HashMap<(usize, String), f64> = HashMap::new();
        for (exchange, mark) in documents {
            if let Some(page) = mark.page {
                let origin = exchange.url.origin().ascii_serialization();
                came.entry((page, origin)).or_insert(exchange.start_ms);
            }
        }
        let mut with_documents = came.keys().map(|(page, _)| *page);
        let first = with_documents.next();
        // Some browsers give all pages the same one.
        let is_lone = with_documents.all(|page| Some(page) == first);
        let mut own: HashMap<usize, PageDocument> = HashMap::new();
        for at in 0..entries.len() {
            let (exchange, mark) = &entries[at];
            let Some(page) = mark.page else { continue };
            if exchange.kind == ExchangeKind::Page {
                let is_own = match own.get(&page) {
                    _ if mark.is_top => true,
                    None => addresses.get(&page).is_none_or(|address| {
                        let origin = address.origin();
                        let of_address = came.get(&(page, origin.ascii_serialization()));
                        origin == exchange.url.origin()
                            || target(exchange).is_some()
                            || is_lone
                                && of_address
                                    .is_some_and(|came_ms| came_ms - exchange.end_ms >= PAUSE_MS)
                    }),
                    Some(before) => {
                        before.goes_on_with(exchange, mark)
                            || is_lone
                                && addresses.get(&page) != Some(&&before.url)
                                && before.ends_before(entries, at)
                    }
                };
                if is_own {
                    own.insert(page, PageDocument::new(at, exchange, mark));
                } else {
                    entries[at].0.kind = ExchangeKind::Call;
                }
            }
            let end_ms = entries[at].0.end_ms;
            if let Some(document) = own.get_mut(&page) {
                document.busy_until = document.busy_until.max(end_ms);
            }
        }
    }
}

impl PageDocument {
    fn new(at: usize, exchange: &RecordedExchange, mark: &PageMark) -> PageDocument {
        PageDocument {
            at,
            url: exchange.url.clone(),
            leads_to: target(exchange),
            frame: mark.frame.clone(),
            frames: OnceCell::new(),
            busy_until: exchange.end_ms,
        }
    }

    /// Returns whether a document is the page's own, too: the target of a redirect of the one before, the same one
    /// again, or the next in the same frame of a tab.
    fn goes_on_with(&self, exchange: &RecordedExchange, mark: &PageMark) -> bool {
        self.leads_to.as_ref() == Some(&exchange.url)
            || self.url == exchange.url
            || self.frame.is_some() && self.frame == mark.frame
    }

    /// Returns whether a document is another page, which the visitor opened: after a pause, by no frame of this page, and
    /// nothing came from this page until the next one.
    fn ends_before(&self, entries: &[(RecordedExchange, PageMark)], at: usize) -> bool {
        let (exchange, mark) = &entries[at];
        if self.frame != mark.frame || exchange.start_ms - self.busy_until < PAUSE_MS {
            return false;
        }
        let frames = || self.frames.get_or_init(|| frames(&entries[self.at].0));
        let until_next = entries[at + 1..].iter();
        let mut until_next =
            until_next.take_while(|(exchange, _)| exchange.kind != ExchangeKind::Page);
        let referrer = Some(hash(&self.url));
        !frames().contains(exchange.url.as_str())
            && !until_next.any(|(_, mark)| mark.referrer == referrer)
    }
}

/// Returns the target of a redirect.
fn target(exchange: &RecordedExchange) -> Option<Url> {
    let response = exchange.response.as_ref();
    let response = response.filter(|response| (300..400).contains(&response.status))?;
    let mut target = exchange.url.join(response.header("location")?).ok()?;
    target.set_fragment(None);
    Some(target)
}

/// Returns the addresses of the frames that a page names.
fn frames(page: &RecordedExchange) -> HashSet<String> {
    let response = page.response.as_ref();
    let body = response.and_then(|response| response.body.as_ref());
    let body = body.filter(|body| body.contains("<iframe") || body.contains("<frame"));
    let found = body.and_then(|body| {
        let document = Document::parse_within(body.as_bytes(), PAGE_BYTES)?;
        let selector = Selector::parse("iframe[src], frame[src]").ok()?;
        let frames = document
            .select_while(&selector, None, &|| true)?
            .into_iter();
        let urls = frames.filter_map(|key| {
            let mut url = page.url.join(document.attr(key, "src")?.trim()).ok()?;
            url.set_fragment(None);
            Some(url.into())
        });
        Some(urls.collect())
    });
    found.unwrap_or_default()
}

fn hash(url: &Url) -> u64 {
    let mut hasher = DefaultHasher::new();
    url.as_str().hash(&mut hasher);
    hasher.finish()
}
