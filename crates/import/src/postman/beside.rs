//! Files that belong to a collection: environments and globals with values of variables, and the rows that a collection
//! runner goes through.

use crate::lua_text::quoted;
use lgoose_base::error::Diagnostic;
use lgoose_base::files;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The most columns of a data file.
const MAX_COLUMNS: usize = 1_000;

/// The contents of the files beside a collection.
#[derive(Debug, Default)]
pub(super) struct BesideFiles {
    /// Lists of variables that the collection's own come before.
    pub(super) globals: Vec<Value>,
    /// Lists of variables that come before the collection's own.
    pub(super) environments: Vec<Value>,
    pub(super) rows: Option<DataRows>,
}

/// A file with a row for each iteration.
#[derive(Debug)]
pub(super) struct DataRows {
    pub(super) columns: Vec<String>,
    /// The expression that reads it.
    pub(super) expression: String,
}

impl BesideFiles {
    /// Reads them.
    ///
    /// # Errors
    /// A file that cannot be read or is something else, with a remedy.
    pub(super) fn read(
        environments: &[PathBuf],
        data: Option<&Path>,
    ) -> Result<BesideFiles, Diagnostic> {
        let mut all = BesideFiles::default();
        for path in environments {
            let mut file = json(path, "--environment")?;
            let values = file["values"].take();
            if !values.is_array() || !file["item"].is_null() {
                let message = format!("'{}' is no environment of Postman", path.display());
                let help = "name a file that Postman has exported of an environment or of globals";
                return Err(Diagnostic::new(message).help(help));
            }
            let is_global = file["_postman_variable_scope"] == "globals";
            let list = if is_global {
                &mut all.globals
            } else {
                &mut all.environments
            };
            list.push(values);
        }
        all.rows = data.map(rows).transpose()?;
        Ok(all)
    }
}

/// Reads the names of the columns of a data file: CSV, or a list of objects in JSON.
fn rows(path: &Path) -> Result<DataRows, Diagnostic> {
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let columns: Vec<String> = if is_json {
        let list = json(path, "--data")?;
        let Some(first) = list.get(0).and_then(Value::as_object) else {
            return Err(no_rows(path));
        };
        first.keys().cloned().collect()
    } else {
        let file = files::open(path).map_err(|error| unreadable(path, "--data", &error))?;
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::Headers)
            .from_reader(file);
        let head = reader.headers().map_err(|_| no_rows(path))?;
        head.iter().map(str::to_owned).collect()
    };
    let columns: Vec<String> = columns.into_iter().take(MAX_COLUMNS).collect();
    if columns.iter().all(String::is_empty) {
        return Err(no_rows(path));
    }
    let name = quoted(&path.display().to_string());
    let expression = if is_json {
        format!("data.json({name}, {{ order = \"circular\" }})")
    } else {
        format!("data.csv({name})")
    };
    Ok(DataRows {
        columns,
        expression,
    })
}

fn json(path: &Path, flag: &str) -> Result<Value, Diagnostic> {
    let text = files::read_to_string(path).map_err(|error| unreadable(path, flag, &error))?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        Diagnostic::new(format!("'{}' is no JSON: {error}", path.display()))
            .help("export it again, and do not edit the file")
    })
}

fn unreadable(path: &Path, flag: &str, error: &std::io::Error) -> Diagnostic {
    let message = format!("cannot read '{}': {error}", path.display());
    Diagnostic::new(message).help(format!("name a file that can be read with '{flag}'"))
}

fn no_rows(path: &Path) -> Diagnostic {
    Diagnostic::new(format!("'{}' has no rows for a collection", path.display())).help(
        "name a CSV file whose first line has the names of the variables, or a JSON file with a list of objects",
    )
}
