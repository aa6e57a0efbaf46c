//! Lists of targets, as `lgoose URLS.txt` runs and `lgoose import` reads them: a URL a line, with a method before it if it is not
//! GET, or the HTTP format of vegeta, where the lines below a target are its headers and `@FILE` its body.
//!
//! Text in, targets out: opens the files of bodies, and knows neither plans nor the command line.
//!
//! <https://github.com/tsenart/vegeta#http-format>

#[cfg(test)]
mod tests;

use lgoose_base::error::Diagnostic;
use lgoose_base::files::{FileError, NamedFile, PlanFolder};
use std::collections::HashMap;
use std::sync::Arc;
use url::Url;

/// The most targets of a list: each user keeps all of them.
pub(crate) const MAX_TARGETS: usize = 20_000;

/// The methods that a list has as a rule.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "TRACE",
];

/// Starts of URLs.
const SCHEMES: [&str; 3] = ["http://", "https://", "demo:"];

/// One request of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its line in the file, from 1.
    pub line: u32,
    /// The method.
    pub method: String,
    /// An absolute URL, or a path that the host of the run belongs before.
    pub url: String,
    /// The headers in their order.
    pub headers: Vec<(String, String)>,
    /// The body, if it has one.
    pub body: Option<TargetBody>,
}

/// The body of a target, shared by all that name the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetBody {
    /// The path as the list has it.
    pub(crate) path: String,
    /// The bytes.
    pub bytes: Arc<Vec<u8>>,
}

/// The kinds of a line.
#[derive(Debug, PartialEq, Eq)]
enum TargetLine<'a> {
    Blank,
    Comment,
    /// A method, if there is one, and a URL.
    Target(Option<&'a str>, &'a str),
    Header(&'a str, &'a str),
    Body(&'a str),
    Other,
}

impl TargetLine<'_> {
    fn of(line: &str) -> TargetLine<'_> {
        let line = line.trim();
        if line.is_empty() {
            return TargetLine::Blank;
        }
        if line.starts_with('#') {
            return TargetLine::Comment;
        }
        if let Some(path) = line.strip_prefix('@') {
            return TargetLine::Body(path.trim());
        }
        if is_url(line) {
            return TargetLine::Target(None, line);
        }
        if let Some((method, url)) = line.split_once([' ', '\t']) {
            let url = url.trim_start();
            let is_upper = method.bytes().all(|byte| byte.is_ascii_uppercase());
            // Small letters are a mistake in a method, and any other word before a URL is a command.
            let is_known = METHODS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(method));
            if is_url(url) && (is_upper || is_known) || is_path(url) && is_upper {
                return TargetLine::Target(Some(method), url);
            }
        }
        match line.split_once(':') {
            // No value begins like the part of a URL after its scheme.
            Some((name, value))
                if !value.starts_with("//")
                    && http::HeaderName::from_bytes(name.as_bytes()).is_ok() =>
            {
                TargetLine::Header(name, value.trim())
            }
            _ => TargetLine::Other,
        }
    }
}

fn is_url(text: &str) -> bool {
    let is_one_word = !text.contains(char::is_whitespace);
    is_one_word && SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.contains(char::is_whitespace)
}

/// Returns whether a text is a list of targets: its first line that is no comment is one, which no Lua begins with. In a file
/// whose name ends in `.txt`, it is enough that most lines are targets, so that a wrong first line is reported as one.
pub fn is_list(name: &str, text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(TargetLine::of);
    let mut lines = lines
        .filter(|line| !matches!(line, TargetLine::Blank | TargetLine::Comment))
        .peekable();
    let is_target = |line: &TargetLine<'_>| matches!(line, TargetLine::Target(..));
    match lines.peek() {
        None => false,
        Some(first) if is_target(first) => true,
        Some(_) => {
            let counted = lines.fold((0_usize, 0_usize), |(targets, all), line| {
                (targets + usize::from(is_target(&line)), all + 1)
            });
            name.ends_with(".txt") && counted.0 * 2 > counted.1
        }
    }
}

/// Reads a list. `name` is that of its file, for messages; bodies are read from its `folder`.
///
/// # Errors
/// The line with the fault, and a remedy.
pub fn parse(name: &str, text: &str, folder: &PlanFolder) -> Result<Vec<Target>, Diagnostic> {
    let text = text.trim_start_matches('\u{feff}');
    let mut targets: Vec<Target> = Vec::new();
    let mut bodies: HashMap<&str, Arc<Vec<u8>>> = HashMap::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let mistake = |message: String, help: &str| {
            Diagnostic::new(message)
                .at(name, Some(number), text)
                .help(help)
        };
        match TargetLine::of(line) {
            TargetLine::Comment => {}
            TargetLine::Blank => is_open = false,
            TargetLine::Target(method, url) => {
                if targets.len() == MAX_TARGETS {
                    let message = format!(
                        "the list has more than {MAX_TARGETS} targets, which every user would keep"
                    );
                    let help = "write a plan that reads them with 'data.lines'";
                    return Err(mistake(message, help));
                }
                let method = method.unwrap_or("GET");
                check_method(method).map_err(|(message, help)| mistake(message, &help))?;
                check_url(url).map_err(|message| {
                    mistake(
                        message,
                        "write an address such as http://127.0.0.1:8080/page",
                    )
                })?;
                is_open = true;
                targets.push(Target {
                    line: number,
                    method: method.to_owned(),
                    url: url.to_owned(),
                    headers: Vec::new(),
                    body: None,
                });
            }
            TargetLine::Header(header, value) => {
                let Some(target) = targets.last_mut().filter(|_| is_open) else {
                    let message = format!("the header '{header}' belongs to no target");
                    let help = "write it right below its target, without a blank line between them";
                    return Err(mistake(message, help));
                };
                if value.chars().any(|c| c.is_control() && c != '\t') {
                    let message =
                        format!("the value of the header '{header}' has a control character");
                    return Err(mistake(message, "remove it"));
                }
                target.headers.push((header.to_owned(), value.to_owned()));
            }
            TargetLine::Body(path) => {
                let Some(target) = targets.last_mut().filter(|_| is_open) else {
                    let help = "write it right below its target, without a blank line between them";
                    return Err(mistake(
                        format!("the body '@{path}' belongs to no target"),
                        help,
                    ));
                };
                if target.body.is_some() {
                    let message = "the target has two bodies".to_owned();
                    return Err(mistake(message, "leave one of them out"));
                }
                let bytes = match bodies.get(path) {
                    Some(bytes) => bytes.clone(),
                    None => {
                        let read = NamedFile::from(path).of_plan(folder).read();
                        let read = read.map_err(|error| {
                            let help = match &error {
                                FileError::Refused(refusal) => refusal.help(),
                                FileError::Io(_) => "give the path of a file after the '@', from the folder of the list",
                            };
                            mistake(format!("cannot read the body '{path}': {error}"), help)
                        })?;
                        bodies.entry(path).or_insert(Arc::new(read)).clone()
                    }
                };
                let path = path.to_owned();
                target.body = Some(TargetBody { path, bytes });
            }
            TargetLine::Other => {
                let message = if is_open {
                    "this is no target, header or body"
                } else {
                    "this is no target"
                };
                let help = "a line is a URL (http://…), 'METHOD URL', a header or '@FILE' of the target above it, or a comment after '#'";
                return Err(mistake(message.to_owned(), help));
            }
        }
    }
    if targets.is_empty() {
        let mistake = Diagnostic::new(format!("{name} has no target"));
        return Err(mistake.help("write a URL on each line"));
    }
    Ok(targets)
}

fn check_method(method: &str) -> Result<(), (String, String)> {
    // Methods have capital and small letters, and 'get' is another one than 'GET'.
    if !method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Ok(());
    }
    let upper = method.to_ascii_uppercase();
    Err((
        format!("'{method}' is no method"),
        format!("write '{upper}'"),
    ))
}

fn check_url(url: &str) -> Result<(), String> {
    if is_path(url) || url.starts_with("demo:") {
        return Ok(());
    }
    match Url::parse(url) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("this is no URL: {error}")),
    }
}
