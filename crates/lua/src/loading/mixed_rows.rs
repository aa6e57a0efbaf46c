//! Rows of the report in which requests of several paths would be counted together. They are found in the text of a
//! task, by the requests that its user sends to a literal path without a name of their own.

use super::review::warning_at;
use crate::diagnostics::{Token, TokenKind, tokens};
use crate::plan_files::Program;
use lgoose_base::error::Diagnostic;
use lgoose_plan::{Plan, are_alike, path_of};

/// Methods of a user that send a request to the path that they are given first.
const METHODS: [&str; 7] = ["get", "head", "delete", "options", "post", "put", "patch"];

/// Returns a warning for each task that requests several pages without naming them.
pub(super) fn mixed_rows(program: &Program, plan: &Plan) -> Vec<Diagnostic> {
    let tasks = plan.scenarios.iter().flat_map(|scenario| &scenario.tasks);
    let warnings = tasks.filter_map(|task| {
        let name = task.name.as_ref()?;
        let location = program.task_locations.get(task.function)?;
        let (file, first, last) = location.function.as_ref()?;
        let text = program.sources.text(file);
        let mut words = tokens(&text);
        words.retain(|word| (*first..=*last).contains(&(word.line as usize)));
        let (method, [one, other]) = mixture(&words)?;
        let message = format!(
            "the requests of task '{name}' for {one} and {other} are counted in one row, '{method} {name}'"
        );
        let warning = warning_at(program, &location.declared, message);
        Some(warning.help(
            "name them, as in user:get(path, { name = \"cart\" }), or set plan { request_names = \"path\" }",
        ))
    });
    warnings.collect()
}

/// Returns the method and two paths of different pages that the function in these words requests without names;
/// `None` if there are none, or if it is unknown which of several functions is the task's.
fn mixture(words: &[Token<'_>]) -> Option<(String, [String; 2])> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text);
    let has_parameter = |at: &usize| {
        let parameter = words.get(at + 2);
        text(*at) == "function"
            && text(at + 1) == "("
            && parameter.is_some_and(|word| word.kind == TokenKind::Name)
    };
    let mut heads = (0..words.len()).filter(has_parameter);
    let (Some(head), None) = (heads.next(), heads.next()) else {
        return None;
    };
    let user = text(head + 2);
    let mut sent: Vec<(&str, String)> = Vec::new();
    for at in head + 3..words.len() {
        if text(at) != user || text(at + 1) != ":" || !METHODS.contains(&text(at + 2)) {
            continue;
        }
        let (method, Some(path)) = (text(at + 2), unnamed_path(words, at + 3)) else {
            continue;
        };
        let path = path_of(&path).to_owned();
        let mut others = sent
            .iter()
            .filter(|(sent_method, _)| *sent_method == method);
        if let Some((_, other)) = others.find(|(_, other)| !are_alike(other, &path)) {
            return Some((method.to_uppercase(), [other.clone(), path]));
        }
        sent.push((method, path));
    }
    None
}

/// Returns the path of a call whose arguments begin at `at`, if it is a literal and the call gives the request no
/// name.
fn unnamed_path(words: &[Token<'_>], at: usize) -> Option<String> {
    let word = |at: usize| words.get(at);
    let open = word(at)?;
    if open.kind == TokenKind::Text {
        return literal(open.text);
    }
    let path = word(at + 1).filter(|path| open.text == "(" && path.kind == TokenKind::Text)?;
    let mut depth = 1;
    for (next, sign) in words.iter().enumerate().skip(at + 2) {
        match (sign.kind, sign.text) {
            (TokenKind::Sign, "(" | "{" | "[") => depth += 1,
            (TokenKind::Sign, ")" | "}" | "]") => depth -= 1,
            // The path is joined from this text and something else.
            (TokenKind::Sign, "..") if depth == 1 && next == at + 2 => return None,
            (TokenKind::Name, "name") if word(next + 1).is_some_and(|next| next.text == "=") => {
                return None;
            }
            // Options from elsewhere may have a name.
            (TokenKind::Name, _) if depth == 1 => return None,
            _ => {}
        }
        if depth == 0 {
            return literal(path.text);
        }
    }
    None
}

/// Returns the content of a quoted text, if it is a path.
fn literal(text: &str) -> Option<String> {
    let inside = text.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
    (inside.starts_with('/') && !inside.contains('\\')).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_several_pages_is_found_by_the_paths_in_the_text() {
        let found =
            |text: &str| mixture(&tokens(text)).map(|(method, paths)| (method, paths.join(" ")));
        let pair = |paths: &str| Some(("GET".to_owned(), paths.to_owned()));
        for (mixed, paths) in [
            (
                "function(user) user:get '/a' user:get(\"/b?x=1\") end",
                "/a /b",
            ),
            (
                "function(u)\n u:get('/a', { expect = { status = 200 } })\n u:post('/p')\n u:get('/c') end",
                "/a /c",
            ),
            (
                "function(u) u:transaction('x', function() u:get '/' u:get '/cart' end) end",
                "/ /cart",
            ),
        ] {
            assert_eq!(found(mixed), pair(paths), "{mixed}");
        }
        for fine in [
            "function(user) user:get '/a' user:get '/a?page=2' end",
            "function(user) user:get '/a' user:post '/b' end",
            "function(user) user:get('/a', { name = 'a' }) user:get '/b' end",
            "function(user) user:get('/a', own) user:get '/b' end",
            "function(user) user:get('/a/' .. id) user:get '/b' end",
            "function(user) user:get '/node/1' user:get '/node/2' end",
            "function(user) user:get(page) other:get '/b' user:get '/c' end",
            "function(a) a:get '/a' end }, task { function(b) b:get '/b' end",
        ] {
            assert_eq!(found(fine), None, "{fine}");
        }
    }
}
