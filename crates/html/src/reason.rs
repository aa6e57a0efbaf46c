//! The reason that a page gives for a refused request: the messages of a form that came back, or the heading of an
//! error page. Driven by failed requests alone, of which few are looked at. One pass without a tree, so that it takes
//! no more memory than the few words that it finds.

use super::collapse;
use super::entities::decode_text;
use super::names::packed;
use super::scan::{Scanner, Tag};
use super::title::title;

/// The most bytes of a page that are looked at.
const MOST_PAGE: usize = 256 << 10;
/// The most bytes of markup that one message may take.
const MOST_MARKUP: usize = 8 << 10;
/// The most messages that are looked at.
const MOST_TEXTS: usize = 16;
/// The most characters of a reason.
const MAX_REASON: usize = 200;

/// Classes that sites give to the messages of a form alone: Django, Drupal, WordPress and WooCommerce, Rails, ASP.NET,
/// Bootstrap, GOV.UK, USWDS, MediaWiki and its Codex, PatternFly, which Keycloak has.
const MESSAGES: [&[u8]; 21] = [
    b"errorlist",
    b"errornote",
    b"messages--error",
    b"form-item--error-message",
    b"woocommerce-error",
    b"validation-summary-errors",
    b"field-validation-error",
    b"alert-danger",
    b"alert-error",
    b"flash-error",
    b"notice-error",
    b"error-message",
    b"form-error",
    b"field-error",
    b"govuk-error-message",
    b"usa-error-message",
    b"usa-alert--error",
    b"mw-message-box-error",
    b"errorbox",
    b"cdx-message--error",
    b"pf-m-error",
];
/// The same of elements with these ids: WordPress and Rails.
const MESSAGE_IDS: [&[u8]; 2] = [b"login_error", b"error_explanation"];
/// Classes of elements that may as well be something else, or be there unseen.
const LIKELY: [&[u8]; 3] = [b"error", b"errors", b"invalid-feedback"];

/// The kind of an element's text, the best reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReasonKind {
    Message,
    Likely,
    Heading,
    Paragraph,
    /// Nobody sees it.
    Hidden,
}

/// Returns the reason that a page gives, in at most about 200 characters on one line: the messages of its form and, of a
/// page that `is_error`, its first heading with the paragraph after it, or its title. `None` if there is no such thing.
pub fn reason(page: &[u8], is_error: bool) -> Option<String> {
    let page = &page[..page.len().min(MOST_PAGE)];
    let mut found = ReasonTexts::default();
    let mut open: Option<OpenElement> = None;
    let mut scanner = Scanner::new(page);
    let mut after = 0;
    let mut is_raw = false;
    while let Some(tag) = scanner.tag() {
        if let Some(open) = &mut open {
            let text = &page[after..scanner.tag_start().max(after)];
            open.add(if is_raw { b"" } else { text });
        }
        match tag {
            Tag::Start(name) => {
                let kind = kind(name, &mut scanner, &found);
                let better = |open: &OpenElement| kind.is_some_and(|kind| kind < open.kind);
                match &mut open {
                    Some(open) if open.kind == ReasonKind::Hidden || !better(open) => {
                        open.start(name)
                    }
                    open => {
                        *open = kind
                            .map(|kind| OpenElement::new(kind, name))
                            .or(open.take())
                    }
                }
            }
            Tag::End(name) => {
                if let Some(ended) = open.take_if(|open| open.end(name)) {
                    found.add(ended);
                }
            }
        }
        if let Some(full) = open.take_if(|open| open.markup > MOST_MARKUP) {
            found.add(full);
        }
        (after, is_raw) = scanner.after_tag();
    }
    if let Some(mut open) = open {
        open.add(if is_raw {
            b""
        } else {
            page.get(after..).unwrap_or_default()
        });
        found.add(open);
    }
    found.reason(is_error.then_some(page))
}

/// The texts of a page that may be its reason.
#[derive(Debug, Default)]
struct ReasonTexts {
    messages: Vec<String>,
    likely: Vec<String>,
    heading: Option<String>,
    paragraph: Option<String>,
}

impl ReasonTexts {
    fn add(&mut self, ended: OpenElement) {
        let text = collapse(std::iter::once(&*ended.text));
        if text.is_empty() {
            return;
        }
        let list = match ended.kind {
            ReasonKind::Message => &mut self.messages,
            ReasonKind::Likely => &mut self.likely,
            ReasonKind::Heading => return self.heading = Some(text),
            ReasonKind::Paragraph => return self.paragraph = Some(text),
            ReasonKind::Hidden => return,
        };
        if list.len() < MOST_TEXTS && !list.contains(&text) {
            list.push(text);
        }
    }

    /// Returns the best reason; `error` is a page whose heading names the problem.
    fn reason(self, error: Option<&[u8]>) -> Option<String> {
        let messages = if self.messages.is_empty() {
            self.likely
        } else {
            self.messages
        };
        if !messages.is_empty() {
            return Some(cut(messages.join(" · ")));
        }
        let heading = self.heading.or_else(|| title(error?));
        let heading = heading.filter(|heading| error.is_some() && !heading.is_empty())?;
        Some(cut(match self.paragraph {
            Some(paragraph) => format!("{heading}: {paragraph}"),
            None => heading,
        }))
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_REASON) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// An element whose text is read.
#[derive(Debug)]
struct OpenElement {
    kind: ReasonKind,
    name: u64,
    /// The number of open elements of that name, itself included.
    depth: u32,
    text: String,
    markup: usize,
}

impl OpenElement {
    fn new(kind: ReasonKind, name: u64) -> OpenElement {
        OpenElement {
            kind,
            name,
            depth: 1,
            text: String::new(),
            markup: 0,
        }
    }

    fn add(&mut self, markup: &[u8]) {
        self.markup += markup.len() + 1;
        if self.kind == ReasonKind::Hidden {
            // It may go on for long, and takes nothing.
            self.markup = 0;
            return;
        }
        let markup = &markup[..markup.len().min(MOST_MARKUP)];
        let markup = String::from_utf8_lossy(markup);
        let mut rest = &*markup;
        while let Some((before, comment)) = rest.split_once("<!--") {
            self.text += &decode_text(before);
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        }
        self.text += &decode_text(rest);
    }

    fn start(&mut self, name: u64) {
        self.depth += u32::from(name == self.name);
        self.part(name);
    }

    /// Returns whether that is its own end.
    fn end(&mut self, name: u64) -> bool {
        self.depth -= u32::from(name == self.name);
        self.part(name);
        self.depth == 0
    }

    /// Keeps the texts of two blocks apart.
    fn part(&mut self, name: u64) {
        const IN_LINE: [u64; 8] = [
            packed(b"a"),
            packed(b"b"),
            packed(b"i"),
            packed(b"em"),
            packed(b"code"),
            packed(b"span"),
            packed(b"small"),
            packed(b"strong"),
        ];
        if !IN_LINE.contains(&name) {
            self.text.push(' ');
        }
    }
}

/// Returns the kind of the text in the element whose start tag has just been read, and reads its attributes.
fn kind(name: u64, scanner: &mut Scanner<'_>, found: &ReasonTexts) -> Option<ReasonKind> {
    const H1: u64 = packed(b"h1");
    const P: u64 = packed(b"p");
    /// Elements that are not messages themselves, whatever their class is: those without text, and whole pages and
    /// forms.
    const NO_MESSAGES: [u64; 9] = [
        packed(b"html"),
        packed(b"body"),
        packed(b"form"),
        packed(b"input"),
        packed(b"img"),
        packed(b"link"),
        packed(b"select"),
        packed(b"textarea"),
        packed(b"script"),
    ];
    let mut kind = match name {
        H1 if found.heading.is_none() => Some(ReasonKind::Heading),
        P if found.heading.is_some() && found.paragraph.is_none() => Some(ReasonKind::Paragraph),
        _ => None,
    };
    let mut hidden = name == packed(b"template");
    while let Some((attribute, value)) = scanner.attribute() {
        let is = |expected: &[u8]| value.eq_ignore_ascii_case(expected);
        let better = match attribute.to_ascii_lowercase().as_slice() {
            b"class" => class_kind(value),
            b"id" if MESSAGE_IDS.iter().any(|id| is(id)) => Some(ReasonKind::Message),
            b"role" if is(b"alert") => Some(ReasonKind::Likely),
            b"hidden" => {
                hidden = true;
                None
            }
            _ => None,
        };
        kind = match (kind, better) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    if NO_MESSAGES.contains(&name) {
        None
    } else if hidden {
        Some(ReasonKind::Hidden)
    } else {
        kind
    }
}

fn class_kind(classes: &[u8]) -> Option<ReasonKind> {
    let among = |list: &[&[u8]]| {
        let mut classes = classes.split(u8::is_ascii_whitespace);
        classes.any(|class| list.iter().any(|listed| class.eq_ignore_ascii_case(listed)))
    };
    match (among(&MESSAGES) || is_danger_alert(classes), among(&LIKELY)) {
        (true, _) => Some(ReasonKind::Message),
        (false, true) => Some(ReasonKind::Likely),
        (false, false) => None,
    }
}

/// Returns whether an element is an alert of PatternFly, of any of its versions (`pf-c-alert`, `pf-v5-c-alert`), that
/// reports an error. Buttons have the second class, too.
fn is_danger_alert(classes: &[u8]) -> bool {
    let words = || classes.split(u8::is_ascii_whitespace);
    words().any(|class| class == b"pf-m-danger")
        && words().any(|class| class.starts_with(b"pf-") && class.ends_with(b"-c-alert"))
}

#[cfg(test)]
mod tests {
    use super::reason;
    use crate::fixture;

    fn of(page: &str) -> Option<String> {
        reason(page.as_bytes(), false)
    }

    fn of_error(page: &str) -> Option<String> {
        reason(page.as_bytes(), true)
    }

    #[test]
    fn the_messages_of_a_refused_form_are_its_reason() {
        for (page, expected) in [
            (
                "<p class=errornote>Please correct the error\n below.</p><form><ul class=\"errorlist\" id=e><li>Too \
                 <b>short</b>.</li><li>Not &lt;b&gt;</li></ul><input class=error></form>",
                "Please correct the error below. · Too short. Not <b>",
            ),
            (
                "<div role=\"contentinfo\" class=\"messages messages--error\"><div role=alert>Unrecognized</div> name</div>",
                "Unrecognized name",
            ),
            (
                "<div id=\"login_error\" class=\"notice\"><p><strong>Error:</strong> unknown user</p></div>",
                "Error: unknown user",
            ),
            (
                "<div class='x error'>a<!-- <b> --><div>b</div>c</div>d",
                "a b c",
            ),
            (
                "<div role=alert>weak</div><div class=alert-danger>strong</div>",
                "strong",
            ),
            (
                "<ul class=errorlist><li>same</li></ul><ul class=errorlist><li>same</li></ul>",
                "same",
            ),
            (
                "<div class=\"mw-message-box-error mw-message-box\"><p>Incorrect username or password entered.</p></div>",
                "Incorrect username or password entered.",
            ),
            (
                "<div class=\"cdx-message cdx-message--block cdx-message--error\"><span class=cdx-message__icon></span>\
                 <div class=cdx-message__content>Wrong</div></div>",
                "Wrong",
            ),
            (
                "<span class=\"pf-c-form-control pf-m-error\"><input name=username></span><span id=input-error class=\"\
                 pf-c-form__helper-text pf-m-error required kc-feedback-text\">Invalid username or password.</span>",
                "Invalid username or password.",
            ),
            (
                "<div class=\"pf-v5-c-alert pf-m-inline pf-m-danger\"><span class=kc-feedback-text>Account is disabled.\
                 </span></div><button class=\"pf-v5-c-button pf-m-danger\">Delete</button>",
                "Account is disabled.",
            ),
            ("<p role=alert>never ended", "never ended"),
            (
                "<div class=error>a<script>'no'</script>b<style>no</style>",
                "a b",
            ),
        ] {
            assert_eq!(of(page).as_deref(), Some(expected), "{page}");
            assert_eq!(of_error(page).as_deref(), Some(expected), "{page}");
        }
    }

    #[test]
    fn what_nobody_sees_and_what_is_no_message_is_none() {
        for page in [
            "",
            "<",
            "no page",
            "<div class=error></div><p role=alert> \n </p>",
            "<div hidden><p class=errorlist>no</p></div>",
            "<template><p class=errorlist>no</p></template>",
            "<body class=error><form class=error>text</form></body>",
            "<div data-class=error>no</div>",
            "<!-- <p class=errorlist>no</p> -->",
            "<h1>Log in</h1><p>text",
            "<button class='pf-c-button pf-m-danger'>Delete</button><div class='pf-c-alert pf-m-info'>Hello</div>",
        ] {
            assert_eq!(of(page), None, "{page}");
        }
        assert_eq!(reason(&fixture::drupal7(3), false), None);
    }

    #[test]
    fn the_heading_of_an_error_page_is_its_reason() {
        for (page, expected) in [
            (
                "<title>403 Forbidden</title><h1>Forbidden <span>(403)</span></h1> <p></p><p>CSRF verification \
                 failed.</p><p>More",
                "Forbidden (403): CSRF verification failed.",
            ),
            ("<title>No &amp; more</title><p>text</p>", "No & more"),
            (
                "<center><h1>502 Bad Gateway</h1></center><hr>nginx",
                "502 Bad Gateway",
            ),
        ] {
            assert_eq!(of_error(page).as_deref(), Some(expected), "{page}");
        }
        assert_eq!(of_error("<title></title>"), None);
    }

    #[test]
    fn a_reason_is_short_and_a_long_page_is_not_read_to_its_end() {
        let long = format!("<p class=errorlist>{}</p>", "ä".repeat(500));
        assert_eq!(
            of(&long).expect("a reason"),
            format!("{}…", "ä".repeat(200))
        );
        let many = "<p class=error>one</p>".repeat(9) + &"<p class=error>x&#120;".repeat(20_000);
        assert_eq!(of(&many).expect("a reason").chars().count(), 201);
        let late = " ".repeat(300 << 10) + "<p class=errorlist>late";
        assert_eq!(of(&late), None);
        // Cut within a tag, a character and a comment.
        for end in 0..long.len().min(40) {
            let _harmless = reason(&long.as_bytes()[..end], true);
        }
    }
}
