//! Fields of forms whose order shows which of them belong together.

use super::{PAGE, entry, har, read};
use serde_json::{Value, json};

const TOKEN: &str = "d94f3f016ae679c3008de268209132f2";

/// A submission of fields after a page with a form of two rows.
fn visit(kind: &str, fields: &str) -> Value {
    let rows = "<input name='items[][name]'><input name='items[][qty]'>".repeat(2);
    let page = format!(
        "<title>Cart</title><form action=/save method=post><input type=hidden name=csrf value={TOKEN}>{rows}</form>"
    );
    let url = "https://shop.example/save";
    let mut save = entry(5, "POST", url, kind, PAGE, "<title>Saved</title>");
    save["request"]["postData"] =
        json!({ "mimeType": "application/x-www-form-urlencoded", "text": fields });
    har(&[
        entry(0, "GET", "https://shop.example/", "document", PAGE, &page),
        save,
    ])
}

#[test]
fn rows_that_a_form_has_are_submitted_with_it() {
    let fields =
        format!("csrf={TOKEN}&items[][name]=b&items[][qty]=1&items[][name]=a&items[][qty]=2");
    let plan = read(&visit("document", &fields)).plan;
    let expected = "user:submit(page:form(\"form[action=\\\"/save\\\"]\"), {
      [\"items[][name]\"] = { \"b\", \"a\" },
      [\"items[][qty]\"] = { \"1\", \"2\" },
    }, { expect = { status = 200, title = \"Saved\" } })";
    assert!(plan.contains(expected), "{plan}");
}

#[test]
fn rows_that_a_script_added_are_sent_as_they_were_with_the_values_of_the_new_visit() {
    let rows = "&items[][name]=b&items[][qty]=1".repeat(3);
    for kind in ["document", "empty"] {
        let plan = read(&visit(kind, &format!("csrf={TOKEN}{rows}"))).plan;
        assert!(
            plan.contains(&format!("csrf .. \"{rows}\", {{")) && !plan.contains(TOKEN),
            "{plan}"
        );
    }
}

#[test]
fn params_are_encoded_in_their_order() {
    let mut recording = visit("empty", "");
    let param = |name: &str, value: &str| json!({ "name": name, "value": value });
    recording["log"]["entries"][1]["request"]["postData"] = json!({
        "mimeType": "application/x-www-form-urlencoded",
        "params": [param("i[][b]", "x%20y"), param("i[][a]", "1"), param("i[][b]", "z")],
    });
    let plan = read(&recording).plan;
    let expected = "\"i%5B%5D%5Bb%5D=x+y&i%5B%5D%5Ba%5D=1&i%5B%5D%5Bb%5D=z\"";
    assert!(plan.contains(expected), "{plan}");
}

#[test]
fn a_form_of_very_many_fields_takes_no_time() {
    let fields: Vec<String> = (0..200_000).map(|number| format!("f{number}=1")).collect();
    let plan = read(&visit("empty", &fields.join("&"))).plan;
    assert!(plan.contains("f199999 = \"1\""));
}
