//! Writes the plan. It is written twice: the first pass shows which values are used where, so that the second can take
//! each from its response.

use super::exchange::{ExchangeKind, PlanOptions};
use super::forms::{FormSubmission, lacks_body};
use super::head::{cookies, head, host_field};
use super::lua_text::{comment, list, quoted};
use super::request::{CallWriter, LineNote, PlanAttachments};
use super::resolve::ValueResolver;
use super::side_by_side;
use super::site::SelectedExchanges;
use super::visit::{MAX_REQUESTS, Visit, VisitStep, VisitTask};
use std::collections::HashMap;

/// The indentation of statements in a task.
const INDENT: usize = 4;

/// A plan, its files and the notes on it.
pub(super) struct WrittenPlan {
    pub(super) plan: String,
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) notes: Vec<String>,
}

/// Writes the plan of a visit; long bodies get files if the options allow it.
pub(super) fn write(
    selection: &SelectedExchanges,
    mut visit: Visit,
    with_files: bool,
    options: &PlanOptions,
) -> WrittenPlan {
    let tasks = tasks_of(&visit);
    let mut requests: Vec<usize> = tasks.keys().copied().collect();
    requests.sort_unstable();
    let mut resolver = ValueResolver::new(&selection.exchanges, &requests);
    let host = host_field(selection, &mut resolver.secrets);
    let cookies = cookies(selection, &mut resolver);
    let mut text = String::new();
    let mut notes = Vec::new();
    let mut files = PlanAttachments::default();
    for pass in 0..2 {
        text.clear();
        notes.clear();
        files = PlanAttachments::new(with_files);
        let mut writer = PlanWriter {
            selection,
            visit: &visit,
            resolver: &mut resolver,
            files: &mut files,
            out: String::new(),
            counted: (0, 0),
            notes: Vec::new(),
            settled: pass == 1,
        };
        for task in 0..visit.tasks.len() {
            writer.task(task, if task == 0 { &cookies } else { &[] });
        }
        text.push_str(&writer.out);
        notes.append(&mut writer.notes);
        resolver.settle(&|at| tasks.get(&at).copied());
        if pass == 0 {
            side_by_side::join(&mut visit, &selection.exchanges, &resolver.needs());
        }
    }
    let head = head(selection, &visit, host, options, &resolver.secrets, &files);
    let offset = head.lines().count();
    let mut listed = by_line(&notes, offset);
    if visit.omitted > 0 {
        listed.push(format!(
            "left out the last {} requests: a plan has {MAX_REQUESTS} at most; record a shorter visit",
            visit.omitted
        ));
    }
    if !visit.missing.is_empty() {
        let shown: Vec<String> = visit
            .missing
            .iter()
            .take(5)
            .map(|path| comment(path))
            .collect();
        let more = if visit.missing.len() > 5 { ", …" } else { "" };
        listed.push(format!(
            "left out what the site did not have: {}{more}",
            shown.join(", ")
        ));
    }
    if visit.in_cache > 0 {
        let s = if visit.in_cache == 1 { "" } else { "s" };
        listed.push(format!(
            "left out {} asset{s} that the browser had in its cache",
            visit.in_cache
        ));
    }
    if resolver.is_incomplete {
        listed.push(
            "the recording is long: what its last requests sent was not looked for in answers"
                .to_owned(),
        );
    }
    for (name, secret) in resolver.secrets.iter() {
        listed.push(format!(
            "set {name} ('-e {name}=…', the environment or '--env-file'): {}",
            comment(&secret.what)
        ));
        if secret.value.len() >= 6 && text.contains(&secret.value) {
            listed.push(format!("what {name} stands for is in the plan elsewhere, too: look for it before you share the plan"));
        }
    }
    let files = files
        .all
        .into_iter()
        .map(|(_, name, content)| (name, content));
    WrittenPlan {
        plan: format!("{head}{text}}}\n"),
        files: files.collect(),
        notes: listed,
    }
}

/// Returns notes with their lines; several notes on one value are one, with all of its lines.
fn by_line(notes: &[(usize, LineNote)], offset: usize) -> Vec<String> {
    let mut merged: Vec<(&Option<String>, String, Vec<String>)> = Vec::new();
    for (line, LineNote { text, made }) in notes {
        let line = line + offset;
        let same = merged
            .iter_mut()
            .find(|(earlier, ..)| made.is_some() && *earlier == made);
        match same {
            Some((.., again)) => again.push(line.to_string()),
            None => merged.push((made, format!("line {line}: {text}"), Vec::new())),
        }
    }
    let whole = merged
        .into_iter()
        .map(|(_, note, again)| match again.len() {
            0 => note,
            1 => format!("{note}; also in line {}", again[0]),
            _ => format!("{note}; also in lines {}", again.join(", ")),
        });
    whole.collect()
}

/// Returns the task of each request.
fn tasks_of(visit: &Visit) -> HashMap<usize, usize> {
    let mut tasks = HashMap::new();
    for (number, task) in visit.tasks.iter().enumerate() {
        for step in &task.steps {
            tasks.extend(step.requests().iter().map(|at| (*at, number)));
        }
    }
    tasks
}

struct PlanWriter<'a, 'b> {
    selection: &'a SelectedExchanges,
    visit: &'b Visit,
    resolver: &'b mut ValueResolver<'a>,
    files: &'b mut PlanAttachments,
    out: String,
    /// The part of the text of which the lines are counted, in bytes, and their number.
    counted: (usize, usize),
    /// Lines, counted from the first task, with their notes.
    notes: Vec<(usize, LineNote)>,
    /// Whether all uses of values are known.
    settled: bool,
}

impl PlanWriter<'_, '_> {
    /// Returns the number of the line that is written next. Looks at each line once.
    fn next_line(&mut self) -> usize {
        let (bytes, lines) = self.counted;
        let lines = lines + self.out[bytes..].matches('\n').count();
        self.counted = (self.out.len(), lines);
        lines + 1
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.out.push_str(&" ".repeat(indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn task(&mut self, number: usize, statements: &[String]) {
        let visit = self.visit;
        let task = &visit.tasks[number];
        let wait = task
            .wait
            .map(|wait| format!(" wait = {wait},"))
            .unwrap_or_default();
        self.line(
            2,
            &format!("task {{ {},{wait} function(user)", quoted(&task.name)),
        );
        for statement in statements {
            self.line(INDENT, statement);
        }
        let mut page = None;
        let mut declared: Vec<&str> = Vec::new();
        for (place, step) in task.steps.iter().enumerate() {
            match step {
                VisitStep::Wait(seconds) => self.line(INDENT, &format!("user:wait({seconds})")),
                VisitStep::Assets { page, more } => self.assets(*page, more),
                VisitStep::Batch(all) => {
                    let is_used = all.iter().any(|at| !self.taken(*at).is_empty());
                    let variable = is_used.then(|| !declared.contains(&"answers"));
                    declared.extend(is_used.then_some("answers"));
                    self.batch(number, all, variable);
                }
                VisitStep::Request { at, submit } => {
                    let is_page = self.selection.exchanges[*at].kind == ExchangeKind::Page;
                    let is_used = self.is_used(task, place, *at);
                    let variable = is_used.then_some(if is_page { "page" } else { "answer" });
                    let local = variable.is_some_and(|name| !declared.contains(&name));
                    declared.extend(variable.filter(|_| local));
                    self.request(
                        number,
                        *at,
                        submit.as_ref(),
                        page,
                        variable.map(|name| (name, local)),
                    );
                    if is_page {
                        page = Some(*at);
                    }
                }
            }
        }
        self.line(2, "end },");
    }

    /// Returns whether a later request needs the response of a request.
    fn is_used(&self, task: &VisitTask, place: usize, at: usize) -> bool {
        if !self.taken(at).is_empty() {
            return true;
        }
        let mut later = task.steps[place + 1..].iter();
        let is_page = self.selection.exchanges[at].kind == ExchangeKind::Page;
        if !is_page {
            return false;
        }
        for step in &mut later {
            match step {
                VisitStep::Assets { page: true, .. } => return true,
                VisitStep::Request { at: next, submit }
                    if self.selection.exchanges[*next].kind == ExchangeKind::Page =>
                {
                    return submit.as_ref().is_some_and(|submit| submit.source == at);
                }
                _ => {}
            }
        }
        false
    }

    fn request(
        &mut self,
        task: usize,
        at: usize,
        submit: Option<&FormSubmission>,
        page: Option<usize>,
        variable: Option<(&str, bool)>,
    ) {
        let line = self.next_line();
        let form = submit.map(|submit| {
            if page == Some(submit.source) {
                super::origin::ValueExtraction::Form(submit.selector.clone()).expression("page")
            } else {
                let number = self
                    .resolver
                    .form(submit.source, submit.selector.clone(), task);
                self.resolver.expression(number)
            }
        });
        let mut call = CallWriter {
            selection: self.selection,
            at,
            task,
            indent: INDENT,
            resolver: self.resolver,
            files: self.files,
            notes: Vec::new(),
        };
        let text = match (submit, form) {
            (Some(submit), Some(form)) => call.submit(&form, submit),
            _ => call.send(),
        };
        let notes = std::mem::take(&mut call.notes);
        self.add_notes(line, at, notes, submit.is_some());
        let taken = self.taken(at);
        let ensure = if taken.is_empty() { "" } else { ":ensure()" };
        match variable {
            Some((name, true)) => self.line(INDENT, &format!("local {name} = {text}{ensure}")),
            Some((name, false)) => self.line(INDENT, &format!("{name} = {text}{ensure}")),
            None => self.line(INDENT, &format!("{text}{ensure}")),
        }
        if let Some((name, _)) = variable {
            for number in taken {
                let statement = self.resolver.extraction(number, name);
                self.line(INDENT, &statement);
            }
        }
    }

    /// Writes requests that go side by side; `variable` where their responses are used, and whether it is new.
    fn batch(&mut self, task: usize, all: &[usize], variable: Option<bool>) {
        let start = match variable {
            Some(true) => "local answers = ",
            Some(false) => "answers = ",
            None => "",
        };
        self.line(INDENT, &format!("{start}user:batch {{"));
        for at in all {
            let line = self.next_line();
            let mut call = CallWriter {
                selection: self.selection,
                at: *at,
                task,
                indent: INDENT + 2,
                resolver: self.resolver,
                files: self.files,
                notes: Vec::new(),
            };
            let text = call.entry();
            let notes = std::mem::take(&mut call.notes);
            self.add_notes(line, *at, notes, false);
            self.line(INDENT + 2, &format!("{text},"));
        }
        self.line(INDENT, "}");
        for (place, at) in all.iter().enumerate() {
            let mut ensure = ":ensure()";
            for number in self.taken(*at) {
                let response = format!("answers[{}]{ensure}", place + 1);
                let statement = self.resolver.extraction(number, &response);
                self.line(INDENT, &statement);
                ensure = "";
            }
        }
    }

    /// Returns the values that are taken from a response, once they are known.
    fn taken(&self, at: usize) -> Vec<usize> {
        if !self.settled {
            return Vec::new();
        }
        let values = self.resolver.values.iter().enumerate();
        let values = values.filter(|(_, value)| value.source == at);
        values.map(|(number, _)| number).collect()
    }

    /// Adds the notes on a request to its line.
    fn add_notes(&mut self, line: usize, at: usize, mut notes: Vec<LineNote>, is_form: bool) {
        let request = &self.selection.exchanges[at];
        if lacks_body(request) {
            let what = if is_form {
                "the form is submitted as it comes, with a small file where one is wanted"
            } else {
                "write its body"
            };
            notes.push(format!("the recording lacks what it sent: {what}").into());
        }
        let place = comment(&format!("{} {}", request.method, request.url.path()));
        let notes = notes.into_iter().map(|note| LineNote {
            text: format!("{place}: {}", note.text),
            ..note
        });
        self.notes.extend(notes.map(|note| (line, note)));
    }

    fn assets(&mut self, page: bool, more: &[usize]) {
        if page {
            self.line(INDENT, "user:fetch(page:assets(), { name = \"assets\" })");
        }
        if more.is_empty() {
            return;
        }
        let paths: Vec<String> = more
            .iter()
            .map(|at| {
                let url = &self.selection.exchanges[*at].url;
                if self.selection.is_site(url) {
                    quoted(&url[url::Position::BeforePath..])
                } else {
                    quoted(url.as_str())
                }
            })
            .collect();
        let text = format!(
            "user:fetch({}, {{ name = \"assets\" }})",
            list(&paths, INDENT + 26)
        );
        let text = if text.contains('\n') {
            format!(
                "user:fetch({}, {{ name = \"assets\" }})",
                list(&paths, INDENT)
            )
        } else {
            text
        };
        self.line(INDENT, &text);
    }
}
