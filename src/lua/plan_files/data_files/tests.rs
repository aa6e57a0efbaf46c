//! Tests of data files: rows, mistakes in files, and the orders in which rows are taken.

use super::*;
use std::collections::HashSet;

/// A temporary folder with files in it.
struct DataFolder(PathBuf);

impl DataFolder {
    fn with(test: &str, files: &[(&str, &str)]) -> DataFolder {
        let name = format!("lgoose-data-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        for (file, text) in files {
            fs::write(folder.join(file), text).expect("the folder takes a file");
        }
        DataFolder(folder)
    }

    fn library(&self) -> DataFiles {
        DataFiles::beside(&self.0.join("plan.lua").to_string_lossy(), None)
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        // What is left behind is found in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn taken(rows: &DataRows, order: RowOrder, count: usize) -> Vec<Option<usize>> {
    let mut own = 0;
    let mut take = |n: usize| rows.take_next(order, &mut own, |below| (below - 1).min(n));
    (0..count)
        .map(|n| match take(n) {
            Taken::Number(place) => Some(place as usize),
            Taken::Later | Taken::Nothing => None,
        })
        .collect()
}

#[test]
fn rows_of_a_table_have_the_names_of_its_first_line() {
    let text = "\u{feff}name, pass\nann,\"a \"\"b\"\", c\"\n\nbob,\"two\nlines\"\r\n";
    let folder = DataFolder::with("table", &[("users.csv", text)]);
    let rows = folder
        .library()
        .open(DataFormat::Csv(b','), "users.csv")
        .expect("a good file");
    assert_eq!(rows.len(), 2);
    let row = |name, pass| Some(DataRow::Cells(vec![("name", name), ("pass", pass)]));
    assert_eq!(rows.row(0), row(&b"ann"[..], &b"a \"b\", c"[..]));
    assert_eq!(rows.row(1), row(&b"bob"[..], &b"two\nlines"[..]));
    assert_eq!(rows.row(2), None);
    assert_eq!(rows.row(usize::MAX), None);
}

#[test]
fn lines_have_no_ends_and_empty_ones_are_no_rows() {
    let folder = DataFolder::with("lines", &[("paths.txt", "\u{feff}/a\r\n\n/b\n/c d")]);
    let rows = folder
        .library()
        .open(DataFormat::Lines, "paths.txt")
        .expect("a good file");
    let lines: Vec<_> = (0..rows.len())
        .filter_map(|place| rows.row(place))
        .collect();
    let expected = [&b"/a"[..], b"/b", b"/c d"].map(DataRow::Line);
    assert_eq!(lines, expected);
}

#[test]
fn a_file_is_read_once_however_it_is_named() {
    let folder = DataFolder::with("once", &[("a.txt", "x")]);
    let library = folder.library();
    let first = library
        .open(DataFormat::Lines, "a.txt")
        .expect("a good file");
    let second = library
        .open(DataFormat::Lines, "./a.txt")
        .expect("a good file");
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn each_order_yields_its_rows() {
    let folder = DataFolder::with("orders", &[("a.txt", "0\n1\n2\n")]);
    let rows = folder
        .library()
        .open(DataFormat::Lines, "a.txt")
        .expect("a good file");
    let places = |list: [usize; 4]| list.map(Some).to_vec();
    assert_eq!(taken(&rows, RowOrder::Circular, 4), places([0, 1, 2, 0]));
    assert_eq!(taken(&rows, RowOrder::Circular, 4), places([1, 2, 0, 1]));
    assert_eq!(taken(&rows, RowOrder::Sequential, 4), places([0, 1, 2, 0]));
    assert_eq!(taken(&rows, RowOrder::Sequential, 4), places([0, 1, 2, 0]));
    assert_eq!(taken(&rows, RowOrder::Random, 4), places([0, 1, 2, 2]));
    let unique = taken(&rows, RowOrder::Unique, 4);
    assert_eq!(unique, [Some(0), Some(1), Some(2), None]);
    assert_eq!((rows.claim_warning(), rows.claim_warning()), (true, false));
}

#[test]
fn unique_rows_are_handed_out_once_to_users_on_many_threads() {
    let text: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let folder = DataFolder::with("unique", &[("a.txt", text.as_str())]);
    let rows = folder
        .library()
        .open(DataFormat::Lines, "a.txt")
        .expect("a good file");
    let users: Vec<_> = (0..4)
        .map(|_| {
            let rows = rows.clone();
            std::thread::spawn(move || taken(&rows, RowOrder::Unique, 6_000))
        })
        .collect();
    let row_numbers: Vec<usize> = users
        .into_iter()
        .flat_map(|user| user.join().expect("the user ends"))
        .flatten()
        .collect();
    assert_eq!(row_numbers.len(), 20_000);
    assert_eq!(
        row_numbers.into_iter().collect::<HashSet<_>>().len(),
        20_000
    );
}

#[test]
fn what_is_wrong_with_a_file_is_reported() {
    let folder = DataFolder::with(
        "wrong",
        &[
            ("empty", "\n\n"),
            ("header.csv", "a,b\n"),
            ("ragged.csv", "a,b\n1,2\n\n3\n"),
            ("twice.csv", "a,a\n1,2\n"),
            ("nameless.csv", "a,\n1,2\n"),
            ("bad.json", "[1,\n]"),
        ],
    );
    let library = folder.library();
    let shown = folder.0.display();
    for (format, file, expected) in [
        (
            DataFormat::Csv(b','),
            "empty",
            "'empty' is empty; its first line names the columns".to_owned(),
        ),
        (DataFormat::Lines, "empty", "'empty' is empty".to_owned()),
        (DataFormat::Json, "empty", "'empty' is empty".to_owned()),
        (
            DataFormat::Csv(b','),
            "header.csv",
            "'header.csv' has no rows; its first line names the columns, the others are the rows"
                .to_owned(),
        ),
        (
            DataFormat::Csv(b','),
            "ragged.csv",
            "'ragged.csv', line 4: 1 column, but its first line names 2".to_owned(),
        ),
        (
            DataFormat::Csv(b','),
            "twice.csv",
            "two columns of 'twice.csv' are named 'a'".to_owned(),
        ),
        (
            DataFormat::Csv(b','),
            "nameless.csv",
            "column 2 in the first line of 'nameless.csv' has no name".to_owned(),
        ),
        (
            DataFormat::Json,
            "bad.json",
            "'bad.json' is not JSON: trailing comma at line 2 column 1".to_owned(),
        ),
        (DataFormat::Lines, ".", "'.' is not a file".to_owned()),
        (
            DataFormat::Lines,
            "none.txt",
            format!("there is no file 'none.txt' in the plan's folder '{shown}'"),
        ),
    ] {
        assert_eq!(library.open(format, file).err(), Some(expected), "{file}");
    }
}

#[test]
fn files_outside_of_the_folder_are_out_of_reach() {
    let outside = DataFolder::with("outside", &[("secret", "x")]);
    let folder = DataFolder::with("inside", &[("a", "x")]);
    let secret = outside.0.join("secret");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, folder.0.join("link")).expect("a link can be made");
    #[cfg(unix)]
    std::os::unix::fs::symlink("a", folder.0.join("good")).expect("a link can be made");
    let library = folder.library();
    let absolute = secret.to_string_lossy();
    for file in ["", "../outside/secret", "x/../../secret", &absolute, "link"] {
        let problem = library
            .open(DataFormat::Lines, file)
            .err()
            .unwrap_or_default();
        assert!(
            problem.contains("outside of the plan's folder"),
            "{file}: {problem}"
        );
    }
    assert!(
        library.open(DataFormat::Lines, "good").is_ok(),
        "a link within"
    );
}
