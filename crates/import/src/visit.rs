//! Arranges requests as a visit: a task per page, its assets, its calls, and the times in between.

use super::exchange::{ExchangeKind, RecordedExchange};
use super::forms::{self, FormSubmission};
use super::site::SelectedExchanges;
use std::collections::{BTreeSet, HashMap};

/// A pause that is shorter is the browser's, in seconds.
const SHORTEST: f64 = 0.5;
/// The pause between two tasks of a recording without pages, in seconds.
const BREAK: f64 = 1.0;
/// The longest pause in seconds: after a longer one, the visitor was away.
const MAX_PAUSE_S: f64 = 120.0;
/// The time in milliseconds above which a request is a long poll, whose end no user waits for.
pub(super) const POLL_MS: f64 = 20e3;
/// The memory for the addresses of a page's assets.
const LIST_BYTES: usize = 8 << 20;
/// The most requests of a plan, assets apart.
pub(super) const MAX_REQUESTS: usize = 2_000;

/// The actions of a user, in order.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) tasks: Vec<VisitTask>,
    /// Requests beyond [`MAX_REQUESTS`].
    pub(super) omitted: usize,
    /// Paths of assets that the site did not have.
    pub(super) missing: BTreeSet<String>,
    /// The number of assets that the browser had in its cache.
    pub(super) in_cache: usize,
}

#[derive(Debug)]
pub(super) struct VisitTask {
    pub(super) name: String,
    pub(super) steps: Vec<VisitStep>,
    /// Seconds.
    pub(super) wait: Option<f64>,
}

#[derive(Debug)]
pub(super) enum VisitStep {
    /// Seconds.
    Wait(f64),
    /// The exchange of that number.
    Request {
        at: usize,
        submit: Option<FormSubmission>,
    },
    /// The exchanges of those numbers, side by side.
    Batch(Vec<usize>),
    /// Assets of the page before, as it names them, and the exchanges of more.
    Assets { page: bool, more: Vec<usize> },
}

impl VisitStep {
    /// Returns the numbers of the exchanges that it requests, assets apart.
    pub(super) fn requests(&self) -> &[usize] {
        match self {
            VisitStep::Request { at, .. } => std::slice::from_ref(at),
            VisitStep::Batch(all) => all,
            VisitStep::Wait(_) | VisitStep::Assets { .. } => &[],
        }
    }
}

/// Arranges all requests.
pub(super) fn arrange(selection: &SelectedExchanges) -> Visit {
    let exchanges = &selection.exchanges;
    let has_pages = exchanges
        .iter()
        .any(|exchange| exchange.kind == ExchangeKind::Page);
    let mut tasks: Vec<VisitTask> = Vec::new();
    // The first exchange of the task, and the place of the page's assets among its steps.
    let (mut task_start, mut assets_place) = (0, None::<(usize, usize)>);
    let mut assets: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    let mut pages: HashMap<(usize, usize), usize> = HashMap::new();
    let mut busy_until = f64::MIN;
    let (mut missing, mut in_cache) = (BTreeSet::new(), 0);
    let (mut requests, mut omitted) = (0, 0);
    for (at, exchange) in exchanges.iter().enumerate() {
        let gap = pause((exchange.start_ms - busy_until) / 1e3);
        if exchange.kind != ExchangeKind::Asset {
            requests += 1;
            if requests > MAX_REQUESTS {
                omitted += 1;
                continue;
            }
        }
        match exchange.kind {
            ExchangeKind::Asset if exchange.cached => {
                in_cache += 1;
                continue;
            }
            ExchangeKind::Asset
                if exchange
                    .response
                    .as_ref()
                    .is_some_and(|response| response.status >= 400) =>
            {
                missing.insert(exchange.url.path().to_owned());
                continue;
            }
            ExchangeKind::Asset => {
                if tasks.is_empty() {
                    tasks.push(new_task(exchange));
                    task_start = at;
                }
                let place = *assets_place.get_or_insert_with(|| {
                    let task = tasks.len() - 1;
                    tasks[task].steps.push(VisitStep::Assets {
                        page: false,
                        more: Vec::new(),
                    });
                    (task, tasks[task].steps.len() - 1)
                });
                assets.entry(place).or_default().push(at);
            }
            ExchangeKind::Page => {
                let submit = forms::find(exchanges, at);
                let goes_on = submit
                    .as_ref()
                    .is_some_and(|submit| submit.source >= task_start && !tasks.is_empty());
                start_task(&mut tasks, !goes_on, gap, exchange);
                if !goes_on {
                    task_start = at;
                }
                let task = tasks.len() - 1;
                tasks[task].steps.push(VisitStep::Request { at, submit });
                tasks[task].steps.push(VisitStep::Assets {
                    page: false,
                    more: Vec::new(),
                });
                let place = (task, tasks[task].steps.len() - 1);
                pages.insert(place, at);
                assets_place = Some(place);
            }
            ExchangeKind::Call => {
                let breaks =
                    !has_pages && gap.is_none_or(|gap| gap >= BREAK) && exchange.response.is_none()
                        || !has_pages && gap.is_some_and(|gap| gap >= BREAK);
                let is_new = tasks.is_empty() || breaks;
                start_task(&mut tasks, is_new, gap, exchange);
                if is_new {
                    (task_start, assets_place) = (at, None);
                }
                let task = tasks.len() - 1;
                tasks[task]
                    .steps
                    .push(VisitStep::Request { at, submit: None });
            }
        }
        if exchange.end_ms - exchange.start_ms < POLL_MS {
            busy_until = busy_until.max(exchange.end_ms);
        } else {
            busy_until = busy_until.max(exchange.start_ms);
        }
    }
    for (place, found) in assets {
        let (page, more) = match pages.get(&place) {
            Some(page) => of_page(selection, &exchanges[*page], found),
            None => (false, found),
        };
        tasks[place.0].steps[place.1] = VisitStep::Assets { page, more };
    }
    for task in &mut tasks {
        task.steps.retain(
            |step| !matches!(step, VisitStep::Assets { page: false, more } if more.is_empty()),
        );
    }
    // The visitor comes back: after the last page as after the others.
    let mut waits: Vec<f64> = tasks.iter().filter_map(|task| task.wait).collect();
    waits.sort_by(f64::total_cmp);
    if let (Some(last), Some(wait)) = (tasks.last_mut(), waits.get(waits.len() / 2)) {
        last.wait = Some(*wait);
    }
    make_unique(&mut tasks);
    Visit {
        tasks,
        omitted,
        missing,
        in_cache,
    }
}

/// Continues the last task after a pause, or begins another.
fn start_task(
    tasks: &mut Vec<VisitTask>,
    is_new: bool,
    gap: Option<f64>,
    exchange: &RecordedExchange,
) {
    match tasks.last_mut() {
        Some(last) if is_new => last.wait = gap,
        Some(last) => last.steps.extend(gap.map(VisitStep::Wait)),
        None => {}
    }
    if is_new {
        tasks.push(new_task(exchange));
    }
}

/// Returns a pause in seconds as a person would write it.
fn pause(seconds: f64) -> Option<f64> {
    match seconds {
        s if !s.is_finite() || s < SHORTEST => None,
        s if s < 10.0 => Some((s * 10.0).round() / 10.0),
        s if s < 3600.0 * 24.0 * 365.0 => Some(s.round().min(MAX_PAUSE_S)),
        _ => None,
    }
}

/// Returns whether a page names most of the assets that were loaded with it, and which it does not.
fn of_page(
    selection: &SelectedExchanges,
    page: &RecordedExchange,
    found: Vec<usize>,
) -> (bool, Vec<usize>) {
    let response = page.response.as_ref().filter(|response| response.is_html());
    let body = response.and_then(|response| Some((response.body.as_ref()?, &response.url)));
    let named = body.and_then(|(body, url)| {
        lgoose_html::assets_within(body.as_bytes(), &url.into(), LIST_BYTES)
    });
    let named: BTreeSet<String> = named
        .map(|named| named.urls.into_iter().collect())
        .unwrap_or_default();
    let is_named = |at: &usize| named.contains(selection.exchanges[*at].url.as_str());
    let loaded: BTreeSet<&str> = found
        .iter()
        .filter(|at| is_named(at))
        .map(|at| selection.exchanges[*at].url.as_str())
        .collect();
    let is_most = !loaded.is_empty() && loaded.len() * 2 >= named.len();
    let mut seen = BTreeSet::new();
    let more = found.into_iter().filter(|at| !(is_most && is_named(at)));
    let more = more
        .filter(|at| seen.insert(selection.exchanges[*at].url.as_str().to_owned()))
        .collect();
    (is_most, more)
}

fn new_task(exchange: &RecordedExchange) -> VisitTask {
    VisitTask {
        name: name_of(exchange),
        steps: Vec::new(),
        wait: None,
    }
}

/// Returns the name of a page: the first part of its title, else its path.
fn name_of(exchange: &RecordedExchange) -> String {
    let response = exchange.response.as_ref();
    let title = response
        .filter(|_| exchange.kind == ExchangeKind::Page)
        .and_then(title_of);
    let path = || match (exchange.kind, exchange.url.path()) {
        (ExchangeKind::Page, "/") => "front page".to_owned(),
        (ExchangeKind::Page, path) => path.to_owned(),
        (_, path) => format!("{} {path}", exchange.method),
    };
    super::names::title(&title.unwrap_or_else(path), "visit")
}

/// Returns the first part of a page's title, without the name of the site.
pub(super) fn title_of(response: &super::exchange::FinalResponse) -> Option<String> {
    let body = response.body.as_ref().filter(|_| response.is_html())?;
    let title = lgoose_html::title(body.as_bytes())?;
    let ends = [
        " | ", " - ", " – ", " — ", " · ", " :: ", " » ", " ‹ ", " « ",
    ]
    .iter()
    .filter_map(|sign| title.find(sign));
    let first = title[..ends.min().unwrap_or(title.len())].trim();
    (!first.is_empty() && first.chars().count() <= 200).then(|| first.to_owned())
}

fn make_unique(tasks: &mut [VisitTask]) {
    let mut taken = BTreeSet::new();
    for task in tasks {
        let name = task.name.clone();
        let mut number = 2;
        while !taken.insert(task.name.clone()) {
            task.name = format!("{name} ({number})");
            number += 1;
        }
    }
}
