//! Tests of data files: rows, mistakes in files, and the orders in which rows are taken.

use super::*;
use flate2::Compression;
use flate2::read::GzEncoder;
use lgoose_base::files::FileReach;
use std::collections::HashSet;
use std::fs;
use std::io::{Cursor, Read};

const LINES: DataFormat = DataFormat::Lines { streamed: false };

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
        self.library_within(&DataMemory::default())
    }

    fn library_within(&self, memory: &DataMemory) -> DataFiles {
        DataFiles::new(PlanFolder::new(&self.0, FileReach::Folder), memory.clone())
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        // A leftover folder is found among the temporary files.
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

/// Returns a row as its cells, each with the name of its column; nothing where there is no row.
fn shown(rows: &DataRows, place: usize) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match rows.row(place).expect("the file can be read") {
        None => Vec::new(),
        Some(DataRow::Cells(cells)) => {
            let cells = cells.iter();
            cells
                .map(|(name, cell)| format!("{name}={}", text(cell)))
                .collect()
        }
        Some(DataRow::Line(line)) => vec![text(&line)],
        Some(DataRow::Json(value)) => vec![serde_json::to_string(&value).expect("it is JSON")],
    }
}

#[test]
fn rows_of_a_table_have_the_names_of_its_first_line() {
    let text = "\u{feff}name, pass\nann,\"a \"\"b\"\", c\"\n\nbob,\"two\nlines\"\r\n";
    let folder = DataFolder::with("table", &[("users.csv", text)]);
    let rows = folder
        .library()
        .open(&DataFormat::Csv(CsvFormat::default()), "users.csv")
        .expect("a good file");
    assert_eq!(rows.len(), 2);
    assert_eq!(shown(&rows, 0), ["name=ann", "pass=a \"b\", c"]);
    assert_eq!(shown(&rows, 1), ["name=bob", "pass=two\nlines"]);
    assert!(shown(&rows, 2).is_empty());
    assert!(shown(&rows, usize::MAX).is_empty());
}

#[test]
fn lines_have_no_ends_and_empty_ones_are_no_rows() {
    let folder = DataFolder::with("lines", &[("paths.txt", "\u{feff}/a\r\n\n/b\n/c d")]);
    let rows = folder
        .library()
        .open(&LINES, "paths.txt")
        .expect("a good file");
    let lines: Vec<_> = (0..rows.len())
        .flat_map(|place| shown(&rows, place))
        .collect();
    assert_eq!(lines, ["/a", "/b", "/c d"]);
}

#[test]
fn a_file_is_read_once_however_it_is_named() {
    let folder = DataFolder::with("once", &[("a.txt", "x")]);
    let library = folder.library();
    let first = library.open(&LINES, "a.txt").expect("a good file");
    let second = library.open(&LINES, "./a.txt").expect("a good file");
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn each_order_yields_its_rows() {
    let folder = DataFolder::with("orders", &[("a.txt", "0\n1\n2\n")]);
    let rows = folder.library().open(&LINES, "a.txt").expect("a good file");
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
    let rows = folder.library().open(&LINES, "a.txt").expect("a good file");
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
    for (format, file, expected) in [
        (
            DataFormat::Csv(CsvFormat::default()),
            "empty",
            "'empty' is empty; its first line names the columns".to_owned(),
        ),
        (LINES, "empty", "'empty' is empty".to_owned()),
        (DataFormat::Json, "empty", "'empty' is empty".to_owned()),
        (
            DataFormat::Csv(CsvFormat::default()),
            "header.csv",
            "'header.csv' has no rows; its first line names the columns, the others are the rows"
                .to_owned(),
        ),
        (
            DataFormat::Csv(CsvFormat::default()),
            "ragged.csv",
            "'ragged.csv', line 4: 1 column, but its first line names 2".to_owned(),
        ),
        (
            DataFormat::Csv(CsvFormat::default()),
            "twice.csv",
            "two columns of 'twice.csv' are named 'a'".to_owned(),
        ),
        (
            DataFormat::Csv(CsvFormat::default()),
            "nameless.csv",
            "column 2 in the first line of 'nameless.csv' has no name".to_owned(),
        ),
        (
            DataFormat::Json,
            "bad.json",
            "'bad.json' is not JSON: trailing comma at line 2 column 1".to_owned(),
        ),
        (LINES, ".", refused(".", &PathRefusal::NoName)),
        (
            LINES,
            "none.txt",
            "there is no file 'none.txt' in the plan's folder".to_owned(),
        ),
    ] {
        assert_eq!(library.open(&format, file).err(), Some(expected), "{file}");
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
    for file in ["../outside/secret", "x/../../secret", &absolute, "link"] {
        let problem = library.open(&LINES, file).err().unwrap_or_default();
        assert!(
            problem.contains("outside the plan's folder"),
            "{file}: {problem}"
        );
    }
    assert!(library.open(&LINES, "good").is_ok(), "a link within");
}

#[test]
fn rows_that_stay_in_their_file_are_those_that_are_read_at_once() {
    let table: String = (0..1000)
        .map(|n| {
            format!(
                "{n},\"a\n{}\"\r\n{}",
                "x".repeat(n % 90),
                "\n".repeat(n % 3)
            )
        })
        .collect();
    let lines: String = (0..1000)
        .map(|n| format!("{n} {}\n{}", "y".repeat(n % 70), "\r\n".repeat(n % 2)))
        .collect();
    let files = [
        ("a.csv", &*format!("\u{feff}n,text\n{table}")),
        ("bare.csv", table.trim_end()),
        ("a.txt", &*format!("\u{feff}{lines}")),
        ("one.txt", "alone"),
    ];
    let folder = DataFolder::with("streamed", &files);
    let library = folder.library();
    let csv = |streamed, named: bool| {
        DataFormat::Csv(CsvFormat {
            streamed,
            columns: named.then(|| vec!["n".to_owned(), "text".to_owned()]),
            ..CsvFormat::default()
        })
    };
    let line = |streamed| DataFormat::Lines { streamed };
    for (file, whole, streamed, count) in [
        ("a.csv", csv(false, false), csv(true, false), 1000),
        ("bare.csv", csv(false, true), csv(true, true), 1000),
        ("a.txt", line(false), line(true), 1000),
        ("one.txt", line(false), line(true), 1),
    ] {
        let whole = library.open(&whole, file).expect("a good file");
        let streamed = library.open(&streamed, file).expect("a good file");
        assert_eq!((whole.len(), streamed.len()), (count, count), "{file}");
        for place in (0..=count).rev() {
            assert_eq!(
                shown(&streamed, place),
                shown(&whole, place),
                "{file} {place}"
            );
        }
        assert_eq!(
            taken(&streamed, RowOrder::Unique, count + 1).last(),
            Some(&None)
        );
    }
}

#[test]
fn a_row_that_is_no_longer_where_it_was_is_an_error() {
    let folder = DataFolder::with("changed", &[("a.csv", "n\n1\n2\n")]);
    let format = DataFormat::Csv(CsvFormat {
        streamed: true,
        ..CsvFormat::default()
    });
    let rows = folder
        .library()
        .open(&format, "a.csv")
        .expect("a good file");
    fs::write(folder.0.join("a.csv"), "n\n").expect("the folder takes a file");
    let problem = rows.row(1).err();
    let expected = "'a.csv' has changed since it was first read: row 2 is no longer where it was";
    assert_eq!(problem.as_deref(), Some(expected));
}

#[test]
fn a_file_larger_than_memory_is_read_in_parts_and_a_row_that_never_ends_is_an_error() {
    let folder = DataFolder::with(
        "large",
        &[
            ("open.csv", "a,b\n1,2\n3,\"4\n"),
            ("first.csv", "a,b\n1,\"2\n"),
        ],
    );
    for file in ["open.csv", "first.csv", "lines.txt"] {
        // The extension takes no room on the disk.
        let path = folder.0.join(file);
        let sparse = fs::OpenOptions::new().create(true).append(true).open(path);
        let sparse = sparse.expect("the folder takes a file");
        sparse.set_len(8 << 40).expect("it takes no room");
    }
    let library = folder.library();
    let csv = |streamed| {
        DataFormat::Csv(CsvFormat {
            streamed,
            ..CsvFormat::default()
        })
    };
    for (format, file, part) in [
        (csv(false), "open.csv", "there is memory for"),
        (csv(true), "open.csv", "a row has more than 64.0 MiB"),
        (csv(true), "first.csv", "a row has more than 64.0 MiB"),
        (LINES, "lines.txt", "there is memory for"),
        (
            DataFormat::Lines { streamed: true },
            "lines.txt",
            "a row has more than 64.0 MiB",
        ),
    ] {
        let problem = library.open(&format, file).err().unwrap_or_default();
        assert!(problem.contains(part), "{file}: {problem}");
    }
}

/// Every format of data files.
fn formats() -> Vec<DataFormat> {
    let csv = |streamed| {
        DataFormat::Csv(CsvFormat {
            streamed,
            ..CsvFormat::default()
        })
    };
    vec![
        csv(false),
        csv(true),
        LINES,
        DataFormat::Lines { streamed: true },
        DataFormat::Json,
        DataFormat::Json5,
        DataFormat::JsonLines,
        DataFormat::Yaml,
        DataFormat::Whole,
    ]
}

fn compressed(bytes: impl Read) -> Vec<u8> {
    let mut packed = GzEncoder::new(bytes, Compression::best());
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).expect("it is packed");
    bytes
}

#[test]
fn a_file_is_read_until_its_memory_is_full_whatever_it_stands_for() {
    const MOST: u64 = 1 << 20;
    let folder = DataFolder::with("full", &[]);
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.0.join(name), bytes).expect("the folder takes a file");
    };
    // What some readers take for their first row or value, then much of the smallest that each keeps.
    let of = |start: &str, piece: &str, count: usize| {
        compressed(Cursor::new(start.to_owned()).chain(Cursor::new(piece.repeat(count))))
    };
    write("rows.csv.gz", &of("a\n", "b\n", 1 << 18));
    write("row.csv.gz", &of("a\n\"", "b", 2 << 20));
    write("lines.gz", &of("", "\n", 4 << 20));
    write("values.gz", &of("[0", ",0", 1 << 17));
    write("texts.gz", &of("[", "\"0123456789\",", 1 << 17));
    write("names.gz", &{
        let members = (0..40_000).map(|number| format!("\"{number}\":0,"));
        let text = format!("{{{}\"\":0}}", members.collect::<String>());
        compressed(text.as_bytes())
    });
    write("values.jsonl.gz", &of("", "0\n", 1 << 17));
    write("values.yaml.gz", &of("", "- 0\n", 1 << 17));
    write("random", &vec![7; 2 << 20]);
    for file in ["hole.csv", "hole"] {
        let sparse = fs::File::create(folder.0.join(file)).expect("the folder takes a file");
        sparse.set_len(16 << 20).expect("it takes no room");
    }
    write(
        "rows.csv",
        format!("a\n{}", "b\n".repeat(3 << 20)).as_bytes(),
    );
    let files = fs::read_dir(&folder.0).expect("a folder");
    for file in files {
        let file = file.expect("a file").file_name();
        let file = file.to_string_lossy();
        for format in formats() {
            let memory = DataMemory::new(MOST);
            let opened = folder.library_within(&memory).open(&format, &file);
            // Some formats are not that of the file, which its reader says; none reads beyond the limit.
            if let Err(problem) = &opened {
                let is_full = problem.contains("'--data-memory' gives them more");
                assert_eq!(is_full, problem.contains("it takes more than"), "{problem}");
            }
            drop(opened);
            assert_eq!(memory.taken(), 0, "{file} {format:?}");
        }
    }
    for (format, file) in [
        (0, "rows.csv.gz"),
        (0, "row.csv.gz"),
        (1, "rows.csv"),
        (2, "lines.gz"),
        (2, "hole"),
        (3, "hole"),
        (4, "values.gz"),
        (4, "texts.gz"),
        (4, "names.gz"),
        (5, "values.gz"),
        (6, "values.jsonl.gz"),
        (7, "values.yaml.gz"),
        (8, "random"),
        (8, "hole"),
    ] {
        let library = folder.library_within(&DataMemory::new(MOST));
        let problem = library.open(&formats()[format], file).err();
        let problem = problem.unwrap_or_default();
        let begins = format!("cannot read '{file}': it takes more than ");
        assert!(problem.starts_with(&begins), "{file} {format}: {problem}");
        assert!(problem.contains("may take 1.00 MiB"), "{problem}");
    }
}

#[test]
fn what_a_file_takes_counts_as_long_as_it_is_kept() {
    let folder = DataFolder::with(
        "kept",
        &[("a.txt", "one\ntwo\n"), ("b.json", "[1, [\"x\"]]")],
    );
    let memory = DataMemory::new(1 << 20);
    let library = folder.library_within(&memory);
    library.open(&LINES, "a.txt").expect("it can be read");
    let lines = memory.taken();
    assert!((24..1024).contains(&lines), "{lines}");
    library
        .open(&DataFormat::Json, "b.json")
        .expect("it can be read");
    let both = memory.taken();
    assert!((lines + 4 * 16..4096).contains(&both), "{both}");
    library.open(&LINES, "a.txt").expect("it can be read");
    assert_eq!(memory.taken(), both);
    drop(library);
    assert_eq!(memory.taken(), 0);
}
