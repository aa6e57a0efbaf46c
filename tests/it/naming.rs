//! Names of requests to which a plan gives none.

use crate::program::plan;
use crate::report::run;
use crate::server::Server;

const MIXED: &str = "task { 'shop', function(user)
  user:get '/cart/17'
  user:get '/cart/18?x=1'
  user:get '/checkout'
  user:post('/pay/1', '')
  user:get('/named/3', { name = 'mine' })
end }";

fn rows(report: &serde_json::Value) -> Vec<String> {
    let rows = report["requests"].as_array().expect("rows").iter();
    let row = |row: &serde_json::Value| {
        format!(
            "{} {} {}",
            row["method"].as_str().unwrap_or(""),
            row["name"].as_str().unwrap_or(""),
            row["count"]
        )
    };
    rows.map(row).collect()
}

#[test]
fn a_row_of_several_paths_is_told_once_with_the_remedy() {
    let server = Server::start();
    let url = server.url();
    let path = plan("naming_mixed.lua", MIXED);
    let report = run([&path, "-H", &url, "-u", "1", "-i", "3"]);
    assert_eq!(
        rows(&report.json),
        ["GET shop 9", "POST shop 3", "GET mine 3"]
    );
    let warnings = report.json["warnings"].as_array().expect("warnings");
    let told: Vec<&str> = warnings
        .iter()
        .filter_map(|text| text.as_str())
        .filter(|text| text.contains("several paths"))
        .collect();
    let [told] = told[..] else {
        panic!("{warnings:?}");
    };
    assert!(
        told.starts_with(
            "the row 'GET shop' counts requests of several paths, such as /cart/18 and /checkout"
        ),
        "{told}"
    );
    assert!(told.contains("request_names = \"path\""), "{told}");
}

#[test]
fn paths_are_names_without_their_ids_where_that_is_wanted() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "naming_paths.lua",
        &format!("plan {{ request_names = 'path' }}\n{MIXED}"),
    );
    let report = run([&path, "-H", &url, "-u", "1", "-i", "1"]);
    let expected = [
        "GET /cart/:id 2",
        "GET /checkout 1",
        "POST /pay/:id 1",
        "GET mine 1",
    ];
    assert_eq!(rows(&report.json), expected);
    assert!(
        !report.json["warnings"]
            .to_string()
            .contains("several paths")
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--request-names",
        "task",
    ]);
    assert_eq!(rows(&report.json)[0], "GET shop 3");
    assert_eq!(report.json["settings"]["request_names"], "task");
}
