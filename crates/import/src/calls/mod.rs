//! A plan of calls that a person has written down: a collection of requests, the description of an API. Nothing was
//! recorded: there are no pages, pauses and responses, and the input states which calls belong together.
//!
//! Filled by the readers of such files; the writer makes the text of it.

mod lua;
mod writer;

use super::lua_text::quoted;
use super::names::UsedNames;
use super::secrets::Secrets;
use super::visit::MAX_REQUESTS;
use lgoose_base::error::Diagnostic;
pub(super) use lua::LuaLiteral;
use std::collections::BTreeMap;
pub(super) use writer::write;

/// The contents of a plan.
#[derive(Debug, Default)]
pub(super) struct PlanOutline {
    /// The first line of the plan, without its end: `The collection 'shop'`.
    pub(super) title: String,
    /// An expression; `None` if it is set when the plan is run.
    pub(super) host: Option<String>,
    /// Options of the plan besides its host.
    pub(super) options: Vec<(String, LuaLiteral)>,
    /// Names and values of the variables at the top, in their order.
    pub(super) locals: Vec<(String, String)>,
    /// Comments below the plan's options, a line each.
    pub(super) remarks: Vec<String>,
    pub(super) names: UsedNames,
    pub(super) secrets: Secrets,
    /// Functions that several tasks call.
    pub(super) functions: Vec<OutlineFunction>,
    pub(super) scenarios: Vec<OutlineScenario>,
    /// Steps before the first user starts and after the last one has stopped.
    pub(super) hooks: Vec<OutlineHook>,
    /// Notes that belong to no line.
    pub(super) notes: Vec<String>,
    /// The names of the functions of `locals` that values call.
    pub(super) helpers: BTreeMap<&'static str, String>,
}

impl PlanOutline {
    /// Sets an option of the plan.
    pub(super) fn option(&mut self, name: &str, value: impl Into<LuaLiteral>) {
        self.options.push((name.to_owned(), value.into()));
    }

    /// Adds a note that belongs to no line.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Notes the requests beyond those that a plan may have.
    pub(super) fn note_omitted(&mut self, requests: usize) {
        if let Some(more @ 1..) = requests.checked_sub(MAX_REQUESTS) {
            self.note(format!(
                "left out the last {more} requests: a plan has {MAX_REQUESTS} at most"
            ));
        }
    }

    /// Returns the value of a secret header with a variable in place of the secret. In `Authorization: Bearer …`, only the
    /// part after the scheme is secret, and its variable is named `authorization`.
    pub(super) fn secret_header(
        &mut self,
        name: &str,
        value: &str,
        authorization: &str,
        what: &str,
    ) -> LuaLiteral {
        LuaLiteral::Expression(match value.split_once(' ') {
            Some((scheme, secret)) if name.to_ascii_lowercase().contains("authorization") => {
                let secret = self.secrets.variable(authorization, secret, what);
                format!("{} .. {secret}", quoted(&format!("{scheme} ")))
            }
            _ => self.secrets.variable(name, value, what),
        })
    }

    /// Returns the name of a function at the top of the plan, which is written once.
    pub(super) fn helper(&mut self, name: &'static str, text: &str) -> String {
        if let Some(known) = self.helpers.get(name) {
            return known.clone();
        }
        let unique = self.names.unique(name);
        self.helpers.insert(name, unique.clone());
        self.locals.push((unique.clone(), text.to_owned()));
        unique
    }

    /// Returns the message for a file of which no request is left, with the first notes as reasons.
    pub(super) fn without_requests(&self, message: &str, help: &str) -> Diagnostic {
        let why: String = self
            .notes
            .iter()
            .take(4)
            .map(|note| format!("; {note}"))
            .collect();
        Diagnostic::new(format!("{message}{why}")).help(help)
    }

    /// Returns the tasks of the last scenario.
    pub(super) fn tasks(&mut self) -> &mut Vec<OutlineTask> {
        if self.scenarios.is_empty() {
            self.scenarios.push(OutlineScenario::default());
        }
        let last = self.scenarios.len() - 1;
        &mut self.scenarios[last].tasks
    }
}

/// A kind of user.
#[derive(Debug, Default)]
pub(super) struct OutlineScenario {
    pub(super) name: String,
    /// Tasks run in their order.
    pub(super) serial: bool,
    pub(super) options: Vec<(String, LuaLiteral)>,
    pub(super) tasks: Vec<OutlineTask>,
}

/// Steps that are run on an event.
#[derive(Debug)]
pub(super) struct OutlineHook {
    pub(super) event: &'static str,
    pub(super) steps: Vec<OutlineStep>,
}

/// A function of the plan whose argument is the user.
#[derive(Debug)]
pub(super) struct OutlineFunction {
    pub(super) comment: String,
    pub(super) name: String,
    pub(super) call: OutlineCall,
    /// The statement at its end.
    pub(super) end: String,
}

#[derive(Debug, Default)]
pub(super) struct OutlineTask {
    pub(super) name: String,
    /// The comment above the first of several tasks.
    pub(super) group: Option<String>,
    /// Tags by which `--tags` selects the task.
    pub(super) tags: Vec<String>,
    pub(super) steps: Vec<OutlineStep>,
}

#[derive(Debug)]
pub(super) enum OutlineStep {
    Comment(String),
    Statement(String),
    Call(Box<OutlineCall>),
    Block(OutlineBlock),
}

/// Steps between two lines, such as `for … do` and `end`.
#[derive(Debug)]
pub(super) struct OutlineBlock {
    pub(super) open: String,
    pub(super) steps: Vec<OutlineStep>,
    pub(super) close: String,
}

impl OutlineStep {
    pub(super) fn block(
        open: impl Into<String>,
        steps: Vec<OutlineStep>,
        close: impl Into<String>,
    ) -> OutlineStep {
        OutlineStep::Block(OutlineBlock {
            open: open.into(),
            steps,
            close: close.into(),
        })
    }

    /// Returns how many requests it sends.
    pub(super) fn requests(&self) -> usize {
        match self {
            OutlineStep::Comment(_) | OutlineStep::Statement(_) => 0,
            OutlineStep::Call(_) => 1,
            OutlineStep::Block(block) => block.steps.iter().map(OutlineStep::requests).sum(),
        }
    }
}

/// A request.
#[derive(Debug, Default)]
pub(super) struct OutlineCall {
    pub(super) method: String,
    /// An expression.
    pub(super) path: String,
    /// The body as an expression, where it is no option.
    pub(super) body: Option<String>,
    pub(super) options: Vec<(String, LuaLiteral)>,
    /// Statements before the request.
    pub(super) before: Vec<String>,
    /// Statements after the request, which take values from the variable `answer`.
    pub(super) after: Vec<String>,
    /// Whether the task continues with them where the request failed.
    pub(super) tolerates_failure: bool,
    /// Notes on its line.
    pub(super) notes: Vec<String>,
}

impl OutlineCall {
    /// Adds an option.
    pub(super) fn option(&mut self, name: &str, value: impl Into<LuaLiteral>) {
        self.options.push((name.to_owned(), value.into()));
    }

    /// Adds a note on its line.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Names the request in all of its notes.
    pub(super) fn name_in_notes(&mut self, place: &str) {
        for note in &mut self.notes {
            *note = format!("{place}: {note}");
        }
    }

    /// Sets a user and a password, which are expressions.
    pub(super) fn authenticate(&mut self, user: &str, password: &str, is_digest: bool) {
        let digest = if is_digest { ", digest = true" } else { "" };
        let pair = format!("{{ {user}, {password}{digest} }}");
        self.option("auth", LuaLiteral::Expression(pair));
    }

    /// Sets a field of an option that is a table, such as a header, or adds it to a list of pairs.
    pub(super) fn set(&mut self, option: &str, name: &str, value: LuaLiteral) {
        let mut options = self.options.iter_mut();
        if let Some((_, LuaLiteral::List(pairs))) = options.find(|(key, _)| key == option) {
            return pairs.push(LuaLiteral::List(vec![LuaLiteral::text(name), value]));
        }
        let fields = self.table(option);
        match fields.iter_mut().find(|(key, _)| key == name) {
            Some((_, existing)) => *existing = value,
            None => fields.push((name.to_owned(), value)),
        }
    }

    /// Adds a value to a field of an option that is a table, which becomes a list if it has one already.
    pub(super) fn add(&mut self, option: &str, name: &str, value: LuaLiteral) {
        let fields = self.table(option);
        let Some((_, key)) = fields.iter_mut().find(|(existing, _)| existing == name) else {
            return fields.push((name.to_owned(), value));
        };
        match key {
            LuaLiteral::List(items) => items.push(value),
            existing => {
                *existing = LuaLiteral::List(vec![
                    std::mem::replace(existing, LuaLiteral::Table(Vec::new())),
                    value,
                ])
            }
        }
    }

    fn table(&mut self, option: &str) -> &mut Vec<(String, LuaLiteral)> {
        let at = match self.options.iter().position(|(key, _)| key == option) {
            Some(at) => at,
            None => {
                self.options
                    .push((option.to_owned(), LuaLiteral::Table(Vec::new())));
                self.options.len() - 1
            }
        };
        if !matches!(self.options[at].1, LuaLiteral::Table(_)) {
            self.options[at].1 = LuaLiteral::Table(Vec::new());
        }
        match &mut self.options[at].1 {
            LuaLiteral::Table(fields) => fields,
            _ => unreachable!("it was made one"),
        }
    }
}
