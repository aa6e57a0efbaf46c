//! CSV data sets: a row for each iteration.

use super::draft::JmeterImport;
use super::element::JmeterElement;
use super::extractors::sets;
use crate::lua_text::comment;
use crate::row_source::{RowSource, columns, header};

/// Returns the statements that take the next row.
pub(super) fn begin_rows<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
) -> Vec<String> {
    let shown = comment(element.name());
    let path = element.property("filename").trim();
    // Where a variable stands for the folder, the name of the file is known all the same.
    let name = path.rsplit('/').next().unwrap_or_default();
    let fixed = import
        .variables
        .fixed(path)
        .or_else(|| import.variables.fixed(name));
    let Some(path) = fixed.filter(|path| !path.is_empty()) else {
        let note = format!(
            "left out the data of '{shown}', the name of whose file is not known: {}",
            comment(path)
        );
        import.note_once(note);
        return Vec::new();
    };
    let is_elsewhere = path.starts_with('/') || path.contains('\\') || path.contains(':');
    let file = if is_elsewhere {
        path.rsplit(['/', '\\']).next().unwrap_or_default()
    } else {
        path.as_str()
    };
    let first_line = read_header(import, element);
    let names: Vec<String> = sets(element).into_iter().map(str::to_owned).collect();
    let order = match (
        element.property("recycle").trim(),
        element.is_set("stopThread"),
    ) {
        ("false", true) => Some("unique"),
        ("false", false) => {
            import.note_once(format!(
                "'{shown}': rows begin again after the last one, where JMeter goes on without a value"
            ));
            None
        }
        _ => None,
    };
    if element.property("shareMode") == "shareMode.thread" {
        import.note_once(format!("'{shown}': all users share the rows, where in JMeter each thread reads the file from its start"));
    }
    let source = RowSource {
        file,
        has_header: names.is_empty() || element.is_set("ignoreFirstLine"),
        header: first_line.as_deref(),
        names: &names,
        separator: separator(element),
        order,
        is_quoted: element.is_set("quotedData"),
    };
    match source.statements(&mut import.calls) {
        Ok((statements, notes)) => {
            for note in notes {
                import.note_once(format!("'{shown}': {note}"));
            }
            statements
        }
        Err(why) => {
            import.note_once(format!("left out the data of '{shown}': {why}"));
            Vec::new()
        }
    }
}

fn separator(element: JmeterElement<'_>) -> &str {
    match element.property("delimiter") {
        "" => ",",
        "\\t" => "\t",
        delimiter => delimiter,
    }
}

/// Returns the names in the first line of the file of a data set, if it lies beside the test plan.
pub(super) fn header_columns<'a>(
    import: &JmeterImport<'a>,
    element: JmeterElement<'a>,
) -> Vec<String> {
    let header = read_header(import, element);
    header.map_or_else(Vec::new, |line| columns(&line, separator(element)))
}

fn read_header<'a>(import: &JmeterImport<'a>, element: JmeterElement<'a>) -> Option<String> {
    let path = element.property("filename").trim();
    header(import.folder.as_deref(), &import.variables.fixed(path)?)
}
