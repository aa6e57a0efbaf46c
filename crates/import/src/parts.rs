//! Parts of a call that need no more than their request: expectations and concatenations.

use super::exchange::{ExchangeKind, RecordedExchange};
use super::lua_text::{list, quoted, table, table_after};
use super::random::is_random;
use super::visit::title_of;
use http::HeaderName;

/// The characters of `local page = user:submit(` and its end.
pub(super) const CALL: usize = 30;

pub(super) type FieldPairs = Vec<(String, String)>;

/// Returns the expected response, and how far redirects are followed.
pub(super) fn expect(
    exchange: &RecordedExchange,
) -> (Option<FieldPairs>, Option<(String, String)>) {
    let stays = ("max_redirects".to_owned(), "0".to_owned());
    let Some(response) = &exchange.response else {
        return (None, (!exchange.follows).then_some(stays));
    };
    let asks = ["if-none-match", "if-modified-since"];
    let asks = asks.iter().any(|name| exchange.header(name).is_some());
    let status = match response.status {
        304 if asks => {
            return (
                Some(vec![("status".to_owned(), "{ 200, 304 }".to_owned())]),
                None,
            );
        }
        // The browser had the rest, which a new visitor has not.
        304 => 200,
        status => status,
    };
    let redirects = (300..400).contains(&status);
    if redirects && exchange.follows {
        // Where it leads was not recorded.
        return (None, None);
    }
    let mut expect = vec![("status".to_owned(), status.to_string())];
    let title = title_of(response).filter(|_| exchange.kind == ExchangeKind::Page);
    let title = title.filter(|title| !title.split_whitespace().any(is_random));
    expect.extend(title.map(|title| ("title".to_owned(), quoted(&title))));
    (Some(expect), redirects.then_some(stays))
}

/// Returns the call that sends a request: expressions for its path and body, options with their values.
pub(super) fn call(
    method: &str,
    path: String,
    body: Option<String>,
    options: FieldPairs,
    indent: usize,
) -> String {
    let with_body = matches!(method, "POST" | "PUT" | "PATCH");
    let plain = matches!(method, "GET" | "HEAD" | "DELETE" | "OPTIONS");
    let sends = body.is_some()
        || options
            .iter()
            .any(|(name, _)| matches!(name.as_str(), "form" | "json" | "multipart"));
    if with_body || (plain && !sends) {
        let mut arguments = vec![path];
        if with_body && (body.is_some() || !options.is_empty()) {
            arguments.push(body.unwrap_or_else(|| "nil".to_owned()));
        }
        if !options.is_empty() {
            let used = CALL
                + arguments
                    .iter()
                    .map(|argument| argument.chars().count() + 2)
                    .sum::<usize>();
            arguments.push(table_after(&options, indent, used));
        }
        return format!(
            "user:{}({})",
            method.to_ascii_lowercase(),
            arguments.join(", ")
        );
    }
    let mut request = vec![("method".to_owned(), quoted(method))];
    request.extend(described(path, body, options));
    format!("user:request {}", table(&request, indent))
}

/// Returns the table that describes a request, as `user:batch` takes it.
pub(super) fn entry(
    method: &str,
    path: String,
    body: Option<String>,
    options: FieldPairs,
    indent: usize,
) -> String {
    let method = Some(method).filter(|method| *method != "GET");
    let method = method.map(|method| ("method".to_owned(), quoted(method)));
    let mut request: FieldPairs = method.into_iter().collect();
    request.extend(described(path, body, options));
    table(&request, indent)
}

fn described(path: String, body: Option<String>, options: FieldPairs) -> FieldPairs {
    let mut fields = vec![("path".to_owned(), path)];
    fields.extend(body.map(|body| ("body".to_owned(), body)));
    fields.extend(options);
    fields
}

/// Returns whether a text can be the name of a header.
pub(super) fn is_token(name: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok()
}

/// Returns an expression as a part of a URL.
pub(super) fn encoded(expression: &str, value: &str) -> String {
    let plain = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    if plain {
        expression.to_owned()
    } else {
        format!("url.encode({expression})")
    }
}

/// The most pieces that `..` joins: each is a level of Lua's reader, which has 200.
const CHAIN: usize = 30;

#[derive(Debug, Clone)]
enum ConcatenationPiece {
    Literal(String),
    Expression(String),
}

/// A text of literals and expressions.
#[derive(Debug, Clone, Default)]
pub(super) struct Concatenation {
    pieces: Vec<ConcatenationPiece>,
}

impl Concatenation {
    pub(super) fn literal(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(ConcatenationPiece::Literal(last)) => last.push_str(text),
            _ => self
                .pieces
                .push(ConcatenationPiece::Literal(text.to_owned())),
        }
    }

    pub(super) fn expression(&mut self, expression: String) {
        self.pieces.push(ConcatenationPiece::Expression(expression));
    }

    /// Adds another text at the end.
    pub(super) fn append(&mut self, other: Concatenation) {
        for piece in other.pieces {
            match piece {
                ConcatenationPiece::Literal(text) => self.literal(&text),
                expression => self.pieces.push(expression),
            }
        }
    }

    /// Returns whether it is the same text each time.
    pub(super) fn is_literal(&self) -> bool {
        let is_literal =
            |piece: &ConcatenationPiece| matches!(piece, ConcatenationPiece::Literal(_));
        self.pieces.iter().all(is_literal)
    }

    /// Returns whether it is one of these texts.
    pub(super) fn is_text(&self, texts: &[&str]) -> bool {
        matches!(self.pieces.as_slice(), [ConcatenationPiece::Literal(text)] if texts.contains(&text.as_str()))
    }

    /// Makes blanks of line breaks and other control characters, and returns whether there are any.
    pub(super) fn replace_controls(&mut self) -> bool {
        let mut any = false;
        for piece in &mut self.pieces {
            if let ConcatenationPiece::Literal(text) = piece
                && text.contains(char::is_control)
            {
                *text = text.replace(char::is_control, " ");
                any = true;
            }
        }
        any
    }

    pub(super) fn finish(self) -> String {
        let pieces = self.pieces.into_iter().map(|piece| match piece {
            ConcatenationPiece::Literal(text) => quoted(&text),
            ConcatenationPiece::Expression(code) => code,
        });
        let pieces: Vec<String> = pieces.collect();
        match pieces.len() {
            0 => quoted(""),
            1..=CHAIN => pieces.join(" .. "),
            _ => format!("table.concat({})", list(&pieces, 4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Concatenation;

    #[test]
    fn a_long_concatenation_is_no_chain() {
        let text = |count: usize| {
            let mut whole = Concatenation::default();
            for _ in 0..count {
                whole.literal("a");
                whole.literal("b");
                whole.expression("x".to_owned());
            }
            whole.finish()
        };
        assert_eq!(text(0), "\"\"");
        assert_eq!(text(2), "\"ab\" .. x .. \"ab\" .. x");
        let long = text(500);
        assert!(
            long.starts_with("table.concat({") && !long.contains(".."),
            "{long}"
        );
    }
}
