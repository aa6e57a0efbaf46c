//! What a form sends, as Chromium submits it: which controls are its own, what their values become, and how it is encoded.

use crate::browser::Browser;
use crate::faulty::{Act, Asked, Site, answer};
use crate::program::{Lgoose, plan, wait_until};
use crate::table::{Table, latin1};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A page, and what a visitor does with its form.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FormCase {
    page: String,
    /// The character set that the head names. Characters of the page are its bytes then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charset: Option<String>,
    /// The query of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// The selector of the form, or of an element of it; the first form without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form: Option<String>,
    /// What is filled in by name: a value or several. Boxes with these values are ticked.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    fill: Map<String, Value>,
    /// The name or the caption of the button that is pressed; `false`: none. The first one without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    press: Option<Value>,
}

/// A submission. `/case` stands for the page itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Submission {
    /// Method and path with its query.
    sent: String,
    /// The content type without its boundary.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body: String,
    /// The parts of a multipart body: disposition, content type, content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<(String, String, String)>,
}

/// `None` where nothing is sent.
type Forms = Table<FormCase, Option<Submission>>;

/// Starts a site whose `/case/7` is the page of the case at that place, and whose `/cases` is their list.
fn site(cases: &[FormCase]) -> Site {
    let cases: Arc<[FormCase]> = cases.into();
    Site::start(move |asked| {
        let path = asked.path.split('?').next().unwrap_or_default();
        if number_of_page(asked).is_some() {
            return answer(204, "", "");
        }
        match path.strip_prefix("/case/") {
            Some(number) => page(&cases[number.parse::<usize>().expect("a number")]),
            None if path == "/cases" => {
                let list = serde_json::to_string(&cases[..]).expect("JSON");
                answer(200, "content-type: application/json\r\n", list)
            }
            None => answer(200, "content-type: text/html\r\n", "<title>judge</title>"),
        }
    })
}

fn page(case: &FormCase) -> Vec<Act> {
    let (charset, body) = match &case.charset {
        Some(charset) => (&**charset, latin1(&case.page)),
        None => ("utf-8", case.page.clone().into_bytes()),
    };
    let kind = format!("content-type: text/html; charset={charset}\r\n");
    answer(200, &kind, body)
}

/// Returns the number of the page that a request was sent from.
fn number_of_page(asked: &Asked) -> Option<usize> {
    let (_, page) = asked.header("referer").split_once("/case/")?;
    page.split('?').next()?.parse().ok()
}

/// Returns what was submitted from each page.
fn submissions(site: &Site, count: usize) -> Vec<Option<Submission>> {
    let mut all = vec![None; count];
    for asked in site.asked() {
        if let Some(number) = number_of_page(&asked) {
            assert!(all[number].is_none(), "page {number} is sent twice");
            all[number] = Some(submission(&asked, number));
        }
    }
    all
}

fn submission(asked: &Asked, number: usize) -> Submission {
    let kind = asked.header("content-type");
    let path = asked.path.replace(&format!("/case/{number}"), "/case");
    let (kind, boundary) = kind.split_once("; boundary=").unwrap_or((kind, ""));
    let mut submission = Submission {
        sent: format!("{} {path}", asked.method),
        kind: kind.to_owned(),
        body: String::new(),
        parts: Vec::new(),
    };
    if boundary.is_empty() {
        submission.body = text(&asked.body);
    } else {
        submission.parts = parts(&asked.body, boundary);
    }
    submission
}

/// Returns bytes as text; each that is no UTF-8 as `\xNN`.
fn text(bytes: &[u8]) -> String {
    let chunks = bytes.utf8_chunks().map(|chunk| {
        let invalid = chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}"));
        chunk.valid().to_owned() + &invalid.collect::<String>()
    });
    chunks.collect()
}

fn parts(body: &[u8], boundary: &str) -> Vec<(String, String, String)> {
    let body = format!("\r\n{}", text(body));
    let delimiter = format!("\r\n--{boundary}");
    let mut parts = Vec::new();
    for piece in body.split(&delimiter).skip(1) {
        if piece == "--\r\n" {
            break;
        }
        let piece = piece.strip_prefix("\r\n").expect("a part begins in a line");
        let (head, content) = piece.split_once("\r\n\r\n").expect("a part has a head");
        let header = |wanted: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            let mut named = lines.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            named.next().map_or("", |(_, value)| value).to_owned()
        };
        parts.push((
            header("content-disposition"),
            header("content-type"),
            content.to_owned(),
        ));
    }
    parts
}

/// Fills in and submits the form of each page in a frame of its own, and returns how many pages were left.
const VISIT: &str = "(async () => {
  const words = text => text.trim().replace(/\\s+/g, ' ');
  const caption = button => button.localName === 'button' ? words(button.textContent)
    : button.type === 'image' ? button.alt : (button.getAttribute('value') ?? 'Submit');
  const fill = (controls, values) => {
    for (const control of controls) {
      if (['checkbox', 'radio'].includes(control.type)) control.checked = values.includes(control.value);
      else if (control.localName !== 'select') control.value = values.length > 1 ? values.shift() : values[0] ?? '';
      else for (const option of control.options) option.selected = values.includes(option.value);
    }
  };
  let left = 0;
  const cases = await (await fetch('/cases')).json();
  for (const [number, one] of cases.entries()) {
    const frame = document.createElement('iframe');
    frame.src = '/case/' + number + (one.query ? '?' + one.query : '');
    await new Promise(done => { frame.onload = done; document.body.append(frame) });
    const [page, view] = [frame.contentDocument, frame.contentWindow];
    const found = page.querySelector(one.form ?? 'form');
    const form = found?.localName === 'form' ? found : found?.form ?? found?.closest('form');
    if (!form) continue;
    for (const [name, value] of Object.entries(one.fill ?? {})) {
      fill([...form.elements].filter(control => control.name === name), [value].flat());
    }
    const buttons = [...page.querySelectorAll('button, input')]
      .filter(button => button.form === form && ['submit', 'image'].includes(button.type));
    const named = text => buttons.find(button => button.name === text) ?? buttons.find(button => caption(button) === text)
      ?? buttons.find(button => button.value === text);
    const button = one.press === undefined ? buttons[0] : one.press === false ? undefined : named(one.press);
    const leaves = new Promise(done => {
      view.navigation.addEventListener('navigate', to => done(to.destination.url.startsWith(location.origin)));
      setTimeout(() => done(false), 2000);
    });
    if (button) button.click(); else form.requestSubmit();
    if (await leaves) left++;
  }
  return left;
})()";

/// Returns what Chromium makes of each case.
fn chromium(browser: &Browser, cases: &[FormCase]) -> Vec<Option<Submission>> {
    let site = site(cases);
    let tab = browser.open(&site.url(), (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let left = tab.js(VISIT).as_u64().expect("a number");
    wait_until("all submissions have arrived", || {
        let submissions = submissions(&site, cases.len());
        submissions.iter().flatten().count() as u64 >= left
    });
    submissions(&site, cases.len())
}

/// Returns what lgoose makes of each case.
fn lgoose(cases: &[FormCase]) -> Vec<Option<Submission>> {
    let site = site(cases);
    let path = plan(
        "judge_forms.lua",
        "task { function(user)
           for number, case in ipairs(user:get('/cases'):json()) do
             local page = user:get('/case/' .. (number - 1) .. (case.query and '?' .. case.query or ''))
             local sent, problem = pcall(user.submit, user, page:form(case.form), case.fill, { button = case.press })
             if not sent then user:log(number - 1 .. ': ' .. tostring(problem)) end
           end
         end }",
    );
    let ended = Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", "1", "-q"]).finish();
    let pages = site.asked().into_iter();
    let pages = pages.filter(|asked| asked.path.starts_with("/case/"));
    let pages = pages.filter(|asked| number_of_page(asked).is_none());
    assert_eq!(pages.count(), cases.len(), "{}", ended.stderr);
    submissions(&site, cases.len())
}

#[test]
fn forms_are_submitted_as_chromium_submits_them() {
    let table = Forms::open("forms");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| {});
}

#[test]
fn the_record_of_forms_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-forms") else {
        return;
    };
    let table = Forms::open("forms");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
