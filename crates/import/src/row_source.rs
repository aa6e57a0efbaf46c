//! Files with rows of values, as other load testers read them: the statements that take the next row.

use super::calls::PlanOutline;
use super::lua_text::{comment, field, quoted};
use lgoose_base::files::{FileReach, NamedFile, PlanFolder};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

/// The most columns: a pattern of Lua's has 32 captures.
const CAPTURES: usize = 32;
/// The most columns of a file that names them.
const MAX_COLUMNS: usize = 1_000;

/// The longest line with names of columns.
const HEADER: u64 = 64 << 10;

/// A file with rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSource<'a> {
    /// Its path from the plan.
    pub(super) file: &'a str,
    /// Whether its first line names the columns.
    pub(super) has_header: bool,
    /// The first line, if the file is there.
    pub(super) header: Option<&'a str>,
    /// The variables that the columns become; none: they have the names of the columns.
    pub(super) names: &'a [String],
    pub(super) separator: &'a str,
    /// The order of rows, if it is not one after another, from the beginning again after the last.
    pub(super) order: Option<&'a str>,
    pub(super) is_quoted: bool,
}

impl RowSource<'_> {
    /// Returns the statements, and the notes on them; the list is a local of the plan.
    ///
    /// # Errors
    /// The reason why it is left out, with a remedy.
    pub(super) fn statements(
        &self,
        calls: &mut PlanOutline,
    ) -> Result<(Vec<String>, Vec<String>), String> {
        let file = comment(self.file);
        let mut notes = Vec::new();
        if self.header.is_none() {
            notes.push(format!(
                "put '{file}' beside the plan, which takes rows from it"
            ));
        }
        let columns = match (self.has_header, self.header) {
            (true, Some(line)) => columns(line, self.separator),
            (true, None) => self.names.to_vec(),
            (false, _) => Vec::new(),
        };
        let names = match self.names {
            [] => columns.as_slice(),
            names => names,
        };
        if names.is_empty() {
            return Err(format!(
                "its columns are not known: put '{file}' beside what is imported, and import it again"
            ));
        }
        let targets: Vec<String> = names
            .iter()
            .map(|name| format!("user.data{}", field(name)))
            .collect();
        let targets = targets.join(", ");
        let order = self.order.map(|order| format!("order = {}", quoted(order)));
        if self.has_header && self.separator.len() == 1 {
            let by =
                (self.separator != ",").then(|| format!("separator = {}", quoted(self.separator)));
            let options = options(by.into_iter().chain(order).collect());
            let rows = list(
                calls,
                self.file,
                format!("data.csv({}{options})", quoted(self.file)),
            );
            let row = calls.names.unique("row");
            let values: Vec<String> = columns
                .iter()
                .take(names.len())
                .map(|name| format!("{row}{}", field(name)))
                .collect();
            let statements = vec![
                format!("local {row} = {rows}:next()"),
                format!("{targets} = {}", values.join(", ")),
            ];
            return Ok((statements, notes));
        }
        if self.is_quoted {
            notes.push("cells in quotation marks keep them; with a first line that names the columns, 'data.csv' reads them".to_owned());
        }
        if names.len() > CAPTURES || !self.separator.is_ascii() {
            return Err(
                "write the names of its columns into the first line, and read it with 'data.csv'"
                    .to_owned(),
            );
        }
        let options = options(order.into_iter().collect());
        let rows = list(
            calls,
            self.file,
            format!("data.lines({}{options})", quoted(self.file)),
        );
        let first: String = self.separator.chars().take(1).collect();
        let cell = format!("([^{}]*)", escaped(&first));
        let cells = vec![cell; names.len()].join(&escaped(self.separator));
        let pattern = quoted(&format!("^{cells}"));
        Ok((
            vec![format!("{targets} = {rows}:next():match({pattern})")],
            notes,
        ))
    }
}

/// Returns the first line of a file in the folder of the imported file, or below.
pub(super) fn header(folder: Option<&Path>, path: &str) -> Option<String> {
    let folder = PlanFolder::new(folder?, FileReach::Folder);
    let file = NamedFile::from(path).of_plan(&folder).open().ok()?;
    let mut line = Vec::new();
    let mut reader = BufReader::new(file.take(HEADER));
    reader.read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    Some(line.trim_start_matches('\u{feff}').trim_end().to_owned())
}

/// Returns the names in the first line of a file.
pub(super) fn columns(line: &str, separator: &str) -> Vec<String> {
    let cells = line.split(separator);
    cells
        .map(|cell| cell.trim().trim_matches('"').to_owned())
        .filter(|name| !name.is_empty())
        .take(MAX_COLUMNS)
        .collect()
}

fn options(options: Vec<String>) -> String {
    if options.is_empty() {
        String::new()
    } else {
        format!(", {{ {} }}", options.join(", "))
    }
}

/// Returns the local that has these rows.
fn list(calls: &mut PlanOutline, file: &str, expression: String) -> String {
    let mut locals = calls.locals.iter();
    if let Some((name, _)) = locals.find(|(_, value)| *value == expression) {
        return name.clone();
    }
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.split('.').next().unwrap_or(stem);
    let name = calls.names.unique(stem);
    calls.locals.push((name.clone(), expression));
    name
}

/// Returns a text as it stands in a pattern of Lua's.
fn escaped(text: &str) -> String {
    let each = text.chars().map(|c| match c {
        c if c.is_ascii_punctuation() => format!("%{c}"),
        c => c.to_string(),
    });
    each.collect()
}
