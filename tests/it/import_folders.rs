//! `lgoose import` of OpenAPI documents that lie in several files.

use crate::import::imported;
use crate::program::{Lgoose, empty_folder, in_repository};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// Returns the document of the shop as JSON, and the plan that it becomes as one file.
fn shop(name: &str) -> (Value, String) {
    let path = in_repository("tests/import/shop.openapi.yaml");
    let (_, plan, _) = imported(&path.display().to_string(), name);
    let text = fs::read_to_string(&path).expect("it is there");
    let document = crate::import_api::yaml_value(&text);
    (document, plan)
}

/// Returns an empty folder with the folders that parts of a document go into.
fn folder(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    for inner in ["paths", "parts"] {
        fs::create_dir_all(folder.join(inner)).expect("the scratch folder takes folders");
    }
    folder
}

#[test]
fn a_document_in_several_files_gives_the_same_plan_as_in_one() {
    let (mut document, whole) = shop("imported_whole.lua");
    let folder = folder("split_document");
    let components = document["components"].take();
    document["components"] = json!({ "securitySchemes": components["securitySchemes"] });
    let parts = components.to_string().replace("\"#/components/", "\"#/");
    fs::write(folder.join("parts/all parts.yaml"), parts).expect("it is written");
    let paths = document["paths"].as_object_mut().expect("paths");
    for (number, (_, item)) in paths.iter_mut().enumerate() {
        let text = item.to_string();
        let text = text.replace("\"#/components/", "\"../parts/all%20parts.yaml#/");
        assert!(!text.contains("\"#/"), "{text}");
        fs::write(folder.join(format!("paths/{number}.json")), text).expect("it is written");
        *item = json!({ "$ref": format!("./paths/{number}.json") });
    }
    let path = folder.join("openapi.json");
    fs::write(&path, document.to_string()).expect("it is written");
    let named = path.display().to_string();
    let (_, split, told) = imported(&named, "imported_split.lua");
    assert_eq!(split, whole);
    assert!(!told.contains("refers to"), "{told}");
    let inside = Lgoose::new(["import", "openapi.json"]).within(&folder);
    assert_eq!(inside.finish().stdout, whole);
    let input = Lgoose::new(["import", "-"]).input(&document.to_string());
    let ended = input.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""));
    for part in [
        "standard input has no operation",
        "'./paths/0.json'",
        "give the document by its file name",
    ] {
        assert!(ended.stderr.contains(part), "{part} in {}", ended.stderr);
    }
}

#[test]
fn what_is_not_there_is_told_and_the_rest_becomes_a_plan() {
    let (mut document, _) = shop("imported_rest.lua");
    let folder = folder("torn_document");
    document["paths"]["/orders"] = json!({ "$ref": "paths/orders.yaml" });
    document["paths"]["/me"] = json!({ "$ref": "https://127.0.0.1:1/me.yaml#/me" });
    let path = folder.join("openapi.json");
    fs::write(&path, document.to_string()).expect("it is written");
    let (_, text, told) = imported(&path.display().to_string(), "imported_torn.lua");
    assert!(text.contains("user:get(\"/api/products\""), "{text}");
    assert!(!text.contains("\"/api/me\""), "{text}");
    for part in [
        "note: at '/paths/~1orders' the document refers to 'paths/orders.yaml', which cannot be read: No such file",
        "note: at '/paths/~1me' the document refers to 'https://127.0.0.1:1/me.yaml#/me', which is an address, and nothing is fetched",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
}
