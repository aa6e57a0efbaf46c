//! The tables of `plan`, `scenario` and `task` as they were when they were declared: what is set in them later would have no
//! effect.

use super::setting::entries;
use crate::diagnostics::tokens;
use crate::plan_files::{SourceLine, Sources};
use lgoose_base::error::Diagnostic;
use mlua::{Table, Value};
use std::collections::HashMap;

/// Tables that have been declared, each with its entries at that time.
#[derive(Debug, Default)]
pub(super) struct DeclaredTables {
    /// By the address of the table, which is kept alive so that the address stays its own. The last declaration counts: a
    /// plan may declare a table several times, with other fields each time.
    tables: HashMap<usize, DeclaredTable>,
}

#[derive(Debug)]
struct DeclaredTable {
    keyword: &'static str,
    table: Table,
    entries: Vec<(Value, Value)>,
    place: SourceLine,
}

impl DeclaredTables {
    /// Notes a table that has been declared.
    pub(super) fn note(&mut self, keyword: &'static str, table: &Table, place: SourceLine) {
        let declared = DeclaredTable {
            keyword,
            entries: entries(table),
            table: table.clone(),
            place,
        };
        self.tables.insert(table.to_pointer().addr(), declared);
    }

    /// Checks at the end of the top level that no table has changed since.
    ///
    /// # Errors
    /// The first entry that was set later, at its line.
    pub(super) fn check_unchanged(&self, sources: &Sources) -> Result<(), Diagnostic> {
        let mut changed: Vec<(&DeclaredTable, String)> = Vec::new();
        for declared in self.tables.values() {
            let now = entries(&declared.table);
            let is_known = |entry: &&(Value, Value)| declared.entries.contains(entry);
            let is_there = |entry: &&(Value, Value)| now.contains(entry);
            let added = now.iter().find(|entry| !is_known(entry));
            let removed = declared.entries.iter().find(|entry| !is_there(entry));
            if let Some((key, _)) = added.or(removed) {
                let key = key.to_string().unwrap_or_default();
                changed.push((declared, key));
            }
        }
        changed.sort_by(|(a, _), (b, _)| a.place.cmp(&b.place));
        let Some((declared, key)) = changed.first() else {
            return Ok(());
        };
        let DeclaredTable {
            keyword,
            place: (file, line),
            ..
        } = declared;
        let source = sources.text(file);
        let at = setting_line(&source, *line, key).unwrap_or(*line);
        let message = format!(
            "'{key}' of a {keyword} is set after its declaration in line {line}, which has no effect"
        );
        Err(Diagnostic::new(message)
            .at(file, Some(at), &source)
            .help(format!("set it between the braces of {keyword} {{ … }}")))
    }
}

/// Returns the first line behind another on which something's field of that name is set.
fn setting_line(source: &str, from: u32, key: &str) -> Option<u32> {
    let words = tokens(source);
    let set = words.windows(3).find(|three| {
        let is_field = three[0].text == "." && three[1].text == key;
        is_field && three[2].text == "=" && three[1].line >= from
    });
    set.map(|three| three[1].line)
}
