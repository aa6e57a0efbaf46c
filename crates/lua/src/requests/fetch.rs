//! Reading of the requests that `user:fetch` yields: a list of URLs with options for all of them.

use super::options;
use super::request::RequestOp;
use super::yielded::{SeeThrough, values_of};
use crate::limits::{Budget, StackTable, StackValue, YieldedValues};
use crate::values::{self, ENTRY_BYTES, describe_mismatch};
use foldhash::{HashSet, fast::RandomState};
use http::Method;
use lgoose_http::{Discard, Request};
use mlua::Value;
use std::rc::Rc;

/// Reads the requests of a fetch, each URL once.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(
    yielded: YieldedValues<'_>,
    see: &SeeThrough<'_>,
    budget: &mut Budget,
) -> Result<Vec<RequestOp>, String> {
    let urls = match yielded.at(1) {
        StackValue::Table(list) => read_plain_urls(list, budget)?,
        _ => None,
    };
    let mut model = RequestOp::new(Method::GET, "");
    let urls = match urls {
        Some(urls) if read_usual_options(&mut model, yielded.at(2)) => urls,
        urls => {
            let [list, options, ..] = values_of(yielded, see)?;
            let urls = match urls {
                Some(urls) => urls,
                None => read_urls(&list, budget)?,
            };
            read_options(&mut model, &options, budget)?;
            urls
        }
    };
    let copy = model.copy_bytes() + ENTRY_BYTES;
    budget.take(copy.saturating_mul(urls.len()))?;
    let mut seen = HashSet::with_capacity_and_hasher(urls.len(), RandomState::default());
    let mut ops = Vec::with_capacity(urls.len());
    for url in urls {
        if seen.insert(url.clone()) {
            ops.push(RequestOp {
                request: Request {
                    url,
                    ..model.request.clone()
                },
                name: model.name.clone(),
                expect: model.expect.clone(),
                allow_failure: model.allow_failure,
                uncounted: model.uncounted,
                tags: model.tags.clone(),
            });
        }
    }
    Ok(ops)
}

/// Reads options that are a name and what to discard, or none, straight from the stack. Returns whether they are; if
/// not, [`read_options`] sets all fields again.
fn read_usual_options(model: &mut RequestOp, options: StackValue<'_>) -> bool {
    match options {
        StackValue::Nil => true,
        StackValue::Table(options) => options.all(|key, value| match (key, value) {
            (StackValue::Text(b"name"), StackValue::Text(name)) => {
                model.name = Some(values::name_of(name));
                true
            }
            (StackValue::Text(b"discard"), StackValue::Text(b"successful")) => {
                model.request.discard = Discard::Successful;
                true
            }
            _ => false,
        }),
        _ => false,
    }
}

/// Reads the options of a fetch.
fn read_options(model: &mut RequestOp, options: &Value, budget: &mut Budget) -> Result<(), String> {
    match options {
        Value::Nil => Ok(()),
        Value::Table(table) => options::read(model, table, &[], budget),
        other => Err(describe_mismatch(
            "the options of user:fetch",
            "a table",
            other,
        )),
    }
}

/// Reads the URLs of a fetch straight from the stack; `None` if they are not a plain list of texts.
fn read_plain_urls(
    list: StackTable<'_>,
    budget: &mut Budget,
) -> Result<Option<Vec<Rc<str>>>, String> {
    let mut urls = Vec::new();
    let mut taken = Ok(());
    let complete = list.texts(|text| {
        taken = budget.take(url_bytes(text.len()));
        if taken.is_ok() {
            urls.push(values::read_url(text));
        }
        taken.is_ok()
    });
    taken.map(|()| complete.then_some(urls))
}

/// Reads the URLs of a fetch from any list.
fn read_urls(list: &Value, budget: &mut Budget) -> Result<Vec<Rc<str>>, String> {
    let Value::Table(table) = list else {
        return Err(describe_mismatch("user:fetch", "a list of URLs", list));
    };
    let mut urls = Vec::new();
    for url in values::list_values(table, "the list of user:fetch")? {
        match &url {
            Value::String(text) => {
                budget.take(url_bytes(text.as_bytes().len()))?;
                urls.push(values::read_url(&text.as_bytes()));
            }
            other => return Err(describe_mismatch("a URL of user:fetch", "a string", other)),
        }
    }
    Ok(urls)
}

/// Returns the memory of a URL and of its place in a list, in bytes.
fn url_bytes(length: usize) -> usize {
    length.saturating_mul(2) + size_of::<Rc<str>>()
}
