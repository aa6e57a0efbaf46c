//! `curl` command lines, as browsers copy them and as people write them.

mod words;

use crate::error::Diagnostic;
use crate::import::exchange::{
    Body, ExchangeKind, PlanOptions, RecordedExchange, RecordedPart, RecordedTraffic, read_body,
};
use crate::import::har::credentials;
use url::Url;
use words::{commands, words};

/// Options without a value that change nothing here.
const QUIET: [&str; 26] = [
    "--compressed",
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-N",
    "--no-buffer",
    "-#",
    "--progress-bar",
    "-f",
    "--fail",
    "--fail-with-body",
    "--http1.1",
    "--http2",
    "--http1.0",
    "-q",
    "--no-progress-meter",
    "--tr-encoding",
    "-g",
    "--globoff",
    "--path-as-is",
    "--http2-prior-knowledge",
];
/// Options with a value that change nothing here.
const QUIET_WITH_VALUE: [&str; 17] = [
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-m",
    "--max-time",
    "--connect-timeout",
    "-c",
    "--cookie-jar",
    "--retry",
    "-D",
    "--dump-header",
    "--retry-delay",
    "--stderr",
    "--trace",
    "--trace-ascii",
    "--max-redirs",
];
/// Options of one letter that take a value.
const WITH_VALUE: &str = "XHdFubAeowmcDTxEr";

/// Reads one command line or several.
///
/// # Errors
/// An option that is not known, and what to do.
pub(super) fn read(name: &str, text: &str) -> Result<RecordedTraffic, Diagnostic> {
    let text = text.trim_start_matches('\u{feff}');
    if text.contains("^\"") || text.contains(" ^\n") || text.contains(" ^\r\n") {
        let diagnostic = Diagnostic::new(format!("{name} is a command line of the Windows prompt"));
        return Err(diagnostic.help("copy the request 'as cURL (bash)' or 'as cURL (POSIX)'"));
    }
    let words = words(name, text)?;
    let mut recording = RecordedTraffic::default();
    let mut options = PlanOptions::default();
    for command in commands(words) {
        match command.split_first() {
            Some((first, arguments)) if first == "curl" || first.ends_with("/curl") => {
                command_of(name, arguments, &mut options, &mut recording)?;
            }
            Some((first, _)) => {
                let message = format!(
                    "{name} begins with '{}', which is neither a HAR file nor a curl command line",
                    shown(first)
                );
                let help =
                    "save the browser's network view as HAR, or copy a request 'as cURL (bash)'";
                return Err(Diagnostic::new(message).help(help));
            }
            None => {}
        }
    }
    recording.options = options;
    Ok(recording)
}

fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

/// What a command line has said so far.
#[derive(Default)]
struct CurlCommand {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Vec<String>,
    json: bool,
    parts: Vec<RecordedPart>,
    get: bool,
    head: bool,
    auth: Option<(String, String)>,
}

fn command_of(
    name: &str,
    arguments: &[String],
    options: &mut PlanOptions,
    recording: &mut RecordedTraffic,
) -> Result<(), Diagnostic> {
    let mut command = CurlCommand::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" {
            command.urls.push(word.clone());
            continue;
        }
        let lacks = |option: &str| {
            Diagnostic::new(format!("{name}: '{}' lacks its value", shown(option)))
                .help("copy the whole command line")
        };
        if word.starts_with("--") {
            let mut value = || words.next().cloned().ok_or_else(|| lacks(word));
            command.option(word, &mut value, options, recording)?;
            continue;
        }
        // `-XPOST`, `-sSL`: short options stand together, the last with its value.
        for (at, letter) in word.char_indices().skip(1) {
            let option = format!("-{letter}");
            let takes = WITH_VALUE.contains(letter);
            let tail =
                Some(&word[at + letter.len_utf8()..]).filter(|tail| takes && !tail.is_empty());
            let mut value = || {
                let value = tail.map(str::to_owned).or_else(|| words.next().cloned());
                value.ok_or_else(|| lacks(&option))
            };
            command.option(&option, &mut value, options, recording)?;
            if takes {
                break;
            }
        }
    }
    command.finish(name, recording)
}

impl CurlCommand {
    fn option(
        &mut self,
        option: &str,
        value: &mut dyn FnMut() -> Result<String, Diagnostic>,
        options: &mut PlanOptions,
        recording: &mut RecordedTraffic,
    ) -> Result<(), Diagnostic> {
        match option {
            "-X" | "--request" => self.method = Some(value()?.to_ascii_uppercase()),
            "-H" | "--header" => {
                if let Some((name, value)) = value()?.split_once(':') {
                    self.headers
                        .push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
                }
            }
            "-d" | "--data" | "--data-ascii" | "--data-binary" => {
                let data = value()?;
                self.add_data(data, recording);
            }
            "--data-raw" => self.data.push(value()?),
            "--data-urlencode" => {
                let data = value()?;
                let encode = |text: &str| {
                    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                self.data.push(match data.split_once('=') {
                    Some(("", text)) => encode(text),
                    Some((name, text)) => format!("{name}={}", encode(text)),
                    None => encode(&data),
                });
            }
            "--json" => {
                self.json = true;
                let data = value()?;
                self.add_data(data, recording);
            }
            "-F" | "--form" | "--form-string" => {
                let field = value()?;
                self.parts.push(part(&field, option != "--form-string"));
            }
            "-u" | "--user" => {
                let user = value()?;
                let (user, password) = user.split_once(':').unwrap_or((&user, ""));
                self.auth = Some((user.to_owned(), password.to_owned()));
            }
            "-b" | "--cookie" => {
                let cookies = value()?;
                if cookies.contains('=') {
                    self.headers.push(("cookie".to_owned(), cookies))
                } else {
                    recording.notes.push(format!(
                        "the cookies of the file '{}' are not imported",
                        shown(&cookies)
                    ))
                }
            }
            "-A" | "--user-agent" => {
                // Somebody chose it: written so, it is not taken for a browser's own, which is left out.
                let agent = value()?;
                self.headers.push(("User-Agent".to_owned(), agent));
            }
            "-e" | "--referer" => drop(value()?),
            "--oauth2-bearer" => {
                let token = value()?;
                self.headers
                    .push(("authorization".to_owned(), format!("Bearer {token}")));
            }
            "--url" => self.urls.push(value()?),
            "-G" | "--get" => self.get = true,
            "-I" | "--head" => self.head = true,
            // Redirects are followed in any case, as the browser did that the command line was copied from.
            "-L" | "--location" | "--location-trusted" => {}
            "-k" | "--insecure" => options.insecure = true,
            option if QUIET.contains(&option) => {}
            option if QUIET_WITH_VALUE.contains(&option) => drop(value()?),
            option => {
                let supported = "-X -H -d --data-raw --data-binary --data-urlencode --json -F -u -b -A -e -k -L -G -I --compressed --url";
                return Err(Diagnostic::new(format!(
                    "curl's option '{}' is not imported",
                    shown(option)
                ))
                .help(format!(
                    "leave it out, and write what it does into the plan; known are {supported}"
                )));
            }
        }
        Ok(())
    }

    fn add_data(&mut self, data: String, recording: &mut RecordedTraffic) {
        if let Some(file) = data.strip_prefix('@') {
            recording.notes.push(format!(
                "the body from '{}' is not imported: write file(\"NAME\") as the body",
                shown(file)
            ));
        } else {
            self.data.push(data);
        }
    }

    fn finish(mut self, name: &str, recording: &mut RecordedTraffic) -> Result<(), Diagnostic> {
        let data =
            (!self.data.is_empty()).then(|| self.data.join(if self.json { "" } else { "&" }));
        if self.urls.is_empty() {
            let diagnostic = Diagnostic::new(format!("{name}: a curl command line without a URL"));
            return Err(diagnostic.help("copy the whole command line"));
        }
        for text in std::mem::take(&mut self.urls) {
            let full = if text.contains("://") {
                text.clone()
            } else {
                format!("http://{text}")
            };
            let url = Url::parse(&full)
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"));
            let Some(mut url) = url else {
                let diagnostic = Diagnostic::new(format!(
                    "{name}: '{}' is not an http or https URL",
                    shown(&text)
                ));
                return Err(diagnostic.help("write it as in http://127.0.0.1:8080/page"));
            };
            url.set_fragment(None);
            let auth = self.auth.clone().or(credentials(&mut url));
            let _gone = credentials(&mut url);
            let mut headers = self.headers.clone();
            let header = |headers: &[(String, String)], name: &str| {
                headers
                    .iter()
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            };
            let body = match (&data, self.get) {
                (Some(data), true) => {
                    let query = url
                        .query()
                        .map(|query| format!("{query}&"))
                        .unwrap_or_default();
                    url.set_query(Some(&format!("{query}{data}")));
                    None
                }
                (Some(data), false) => {
                    let content_type = header(&headers, "content-type");
                    let kind = match (content_type, self.json) {
                        (Some(kind), _) => kind,
                        (None, true) => "application/json".to_owned(),
                        (None, false) => "application/x-www-form-urlencoded".to_owned(),
                    };
                    if header(&headers, "content-type").is_none() {
                        headers.push(("content-type".to_owned(), kind.clone()));
                    }
                    if self.json && header(&headers, "accept").is_none() {
                        headers.push(("accept".to_owned(), "application/json".to_owned()));
                    }
                    match read_body(&kind, data.clone()) {
                        // What is no form is sent as it is.
                        Some(Body::Form(_)) if !data.contains('=') => {
                            Some(Body::Text(data.clone()))
                        }
                        body => body,
                    }
                }
                (None, _) if !self.parts.is_empty() => Some(Body::Multipart(self.parts.clone())),
                (None, _) => None,
            };
            let implied = match (&body, self.head) {
                (_, true) => "HEAD",
                (Some(_), false) => "POST",
                (None, false) => "GET",
            };
            let method = self.method.clone().unwrap_or_else(|| implied.to_owned());
            if method.is_empty()
                || !method.bytes().all(|byte| byte.is_ascii_alphabetic())
                || method == "CONNECT"
            {
                let diagnostic = Diagnostic::new(format!(
                    "{name}: '{}' is not a request method",
                    shown(&method)
                ));
                return Err(diagnostic.help(
                    "methods are GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS and the like",
                ));
            }
            recording.exchanges.push(RecordedExchange {
                kind: ExchangeKind::Call,
                method,
                url,
                headers,
                body,
                auth,
                start_ms: 0.0,
                end_ms: 0.0,
                responded_ms: 0.0,
                cached: false,
                follows: true,
                response: None,
            });
        }
        Ok(())
    }
}

/// Reads `name=value`, `name=@file;type=image/png`.
fn part(field: &str, reads_files: bool) -> RecordedPart {
    let (name, value) = field.split_once('=').unwrap_or((field, ""));
    let file = value.strip_prefix(['@', '<']).filter(|_| reads_files);
    match file {
        Some(file) => {
            let mut words = file.split(';');
            let path = words.next().unwrap_or_default();
            let named = |key: &str| {
                words
                    .clone()
                    .find_map(|word| word.trim().strip_prefix(key).map(str::to_owned))
            };
            let base = path.rsplit('/').next().unwrap_or(path).to_owned();
            RecordedPart {
                name: name.to_owned(),
                filename: Some(named("filename=").unwrap_or(base))
                    .filter(|_| value.starts_with('@')),
                media: named("type="),
                data: None,
            }
        }
        None => RecordedPart {
            name: name.to_owned(),
            filename: None,
            media: None,
            data: Some(value.to_owned()),
        },
    }
}
