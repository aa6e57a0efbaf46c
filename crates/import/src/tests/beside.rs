//! Documents of OpenAPI whose parts lie in other files: those that are read, and the notes on others.

use super::{ImportOptions, Imported, import};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder `api` with these files in it, in a folder of its own.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join("api").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }
    folder
}

fn read_at(path: Option<&Path>, document: &Value) -> Imported {
    let choices = ImportOptions {
        path: path.map(Path::to_owned),
        ..ImportOptions::default()
    };
    import("a file", document.to_string().as_bytes(), &choices).expect("it can be read")
}

/// Imports a document as the file `openapi.json` of the folder `api`.
fn read(folder: &TempDir, document: &Value) -> Imported {
    read_at(Some(&folder.path().join("api/openapi.json")), document)
}

/// A document with one operation whose body has this schema.
fn document(schema: Value) -> Value {
    let body = json!({ "content": { "application/json": { "schema": schema } } });
    json!({
        "openapi": "3.1.0", "servers": [{ "url": "http://127.0.0.1" }],
        "paths": { "/pets": { "post": { "requestBody": body } } },
        "components": { "schemas": { "Owner": { "properties": { "name": { "type": "string", "example": "ann" } } } } },
    })
}

fn reference(to: &str) -> Value {
    json!({ "$ref": to })
}

#[test]
fn references_to_files_beside_are_followed_in_json_and_yaml() {
    let folder = folder(&[
        (
            "schemas/pet.yaml",
            "Pet:\n  properties:\n    kind: { $ref: '#/Kind' }\n    owner: { $ref: '../openapi.json#/components/schemas/Owner' }\n    tag: { $ref: tag.json }\nKind: { enum: [cat, dog] }\n",
        ),
        (
            "schemas/tag.json",
            "\u{feff}{ \"type\": \"integer\", \"minimum\": 7 }",
        ),
        (
            "paths/all.yaml",
            "/toys: { $ref: 'toys.yaml#/~1toys' }\n/pets/{id}:\n  get:\n    parameters: [{ $ref: '../parameters.json#/id' }]\n    responses: { '204': { description: none } }\n",
        ),
        (
            "paths/toys.yaml",
            "/toys: { put: { responses: { '202': { $ref: '#/accepted' } } } }\naccepted: { description: later }\n",
        ),
        (
            "parameters.json",
            "{ \"id\": { \"name\": \"id\", \"in\": \"path\", \"required\": true, \"example\": 4711 } }",
        ),
    ]);
    let imported = read(&folder, &document(reference("./schemas/pet.yaml#/Pet")));
    let expected = "json = { kind = \"cat\", owner = { name = \"ann\" }, tag = 7 }";
    assert!(imported.plan.contains(expected), "{}", imported.plan);
    assert_eq!(imported.notes, [""; 0]);
    let mut whole = document(json!({}));
    whole["paths"] = reference("paths/all.yaml");
    let imported = read(&folder, &whole);
    for part in [
        "user:put(\"/toys\", nil, { expect = { status = 202 } })",
        "user:get(\"/pets/4711\", { expect = { status = 204 } })",
    ] {
        assert!(imported.plan.contains(part), "{part} in\n{}", imported.plan);
    }
    // Places below a reference are found through it.
    let mut indexed = document(reference("#/components/schemas/Pet/properties/kind"));
    indexed["components"]["schemas"] = reference("schemas/pet.yaml");
    let imported = read(&folder, &indexed);
    assert!(
        imported.plan.contains("json = \"cat\""),
        "{}",
        imported.plan
    );
}

#[test]
fn a_choice_between_files_is_reported_by_its_name() {
    let cat = "type: object\nproperties: { kind: { type: string }, name: { type: string, example: tom } }\n";
    let folder = folder(&[("Cat.yaml", cat), ("dog.yaml", "Dog: { type: object }\n")]);
    let choice = |mapping: Value| {
        let branches = [reference("Cat.yaml"), reference("dog.yaml#/Dog")];
        json!({ "oneOf": branches, "discriminator": { "propertyName": "kind", "mapping": mapping } })
    };
    for (mapping, kind) in [
        (json!(null), "Cat"),
        (json!({ "d": "dog.yaml#/Dog", "c": "./Cat.yaml" }), "c"),
    ] {
        let plan = read(&folder, &document(choice(mapping))).plan;
        let expected = format!("json = {{ name = \"tom\", kind = \"{kind}\" }}");
        assert!(plan.contains(&expected), "{plan}");
    }
}

#[test]
fn what_is_not_read_is_reported_with_its_place_and_what_to_do() {
    let folder = folder(&[
        ("in/bad.json", "{ \"a\": 1, }"),
        ("bad.yaml", "a: [1\nb: }"),
        ("bytes.yaml", "a: b"),
        ("holes.yaml", "Pet: { $ref: '#/None' }\n"),
        ("in/far.yaml", "Pet: { $ref: '../../x.yaml' }\n"),
        ("two.yaml", "a: 1\n---\nb: 2\n"),
        ("bomb.yaml", &bomb()),
    ]);
    let api = folder.path().join("api");
    fs::write(api.join("bytes.yaml"), [0xff, 0xfe, 0]).expect("it is written");
    fs::write(
        folder.path().join("secret.json"),
        "{ \"example\": \"secret\" }",
    )
    .expect("written");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, api.join("pipe"), mode).expect("a pipe");
    for (link, to) in [
        ("out.json", "../secret.json"),
        ("zero", "/dev/zero"),
        ("self", "self"),
    ] {
        std::os::unix::fs::symlink(to, api.join(link)).expect("a link");
    }
    for (to, message, help) in [
        (
            "none.yaml#/Pet",
            "cannot be read: No such file",
            "put it there",
        ),
        ("in", "it is a folder, not a file", "mend the '$ref'"),
        ("pipe", "it is a pipe, not a file", "mend the '$ref'"),
        ("zero", "is a link that leads out of", "copy it there"),
        ("out.json", "is a link that leads out of", "copy it there"),
        ("self", "cannot be read: Too many levels", "mend the '$ref'"),
        ("../secret.json", "lies outside of", "copy it there"),
        ("%2e%2e/secret.json", "lies outside of", "copy it there"),
        ("/etc/passwd", "is an absolute path", "write the path from"),
        (
            "http://127.0.0.1:1/x.json",
            "is an address",
            "save it beside",
        ),
        ("file:///etc/passwd", "is an address", "save it beside"),
        ("//127.0.0.1/x.json", "is an address", "save it beside"),
        (
            "in/bad.json",
            "is no JSON: trailing comma at line 1 column 11",
            "mend it",
        ),
        (
            "bad.yaml",
            "is no YAML",
            "mend it there, or save it as JSON",
        ),
        ("bytes.yaml", "is no text in UTF-8", "save it as"),
        (
            "bomb.yaml",
            "is no YAML: it stands for more than is read",
            "mend it there",
        ),
        (
            "two.yaml",
            "is no YAML: it has more than one document",
            "mend it there",
        ),
        (
            "holes.yaml#/None",
            "has nothing at '#/None'",
            "mend the '$ref'",
        ),
    ] {
        let imported = read(&folder, &document(reference(to)));
        let place = "at '/paths/~1pets/post/requestBody/content/application~1json/schema' the document refers to '";
        let notes = &imported.notes;
        assert!(notes[0].starts_with(place), "{to}: {notes:?}");
        assert!(notes[0].contains(message), "{to}: {notes:?}");
        assert!(notes[0].contains(help), "{to}: {notes:?}");
        assert!(!imported.plan.contains("secret"), "{}", imported.plan);
        assert!(notes.iter().all(|note| note.len() < 500), "{notes:?}");
    }
    for (to, expected) in [
        (
            "in/far.yaml#/Pet",
            "in 'in/far.yaml' at '/Pet' the document refers to '../../x.yaml', which lies outside of",
        ),
        (
            "holes.yaml#/Pet",
            "in 'holes.yaml' at '/Pet' the document refers to 'holes.yaml', which has nothing at '#/None'",
        ),
    ] {
        let notes = read(&folder, &document(reference(to))).notes;
        assert!(notes[0].starts_with(expected), "{notes:?}");
    }
    // Without a folder there is none to look in.
    let notes = read_at(None, &document(reference("pet.yaml"))).notes;
    assert!(
        notes[0].contains("give the document by its file name"),
        "{notes:?}"
    );
}

/// A file that refers to itself so often that it would fill any memory.
fn bomb() -> String {
    let mut text = "x0: &x0 [a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..12 {
        let many = vec![format!("*x{}", level - 1); 9].join(", ");
        text.push_str(&format!("x{level}: &x{level} [{many}]\n"));
    }
    text
}

#[test]
fn files_that_refer_to_each_other_in_circles_come_to_an_end() {
    let folder = folder(&[
        ("a.yaml", "$ref: b.yaml\n"),
        ("b.yaml", "$ref: a.yaml#\n"),
        ("deep.yaml", "X: { $ref: 'deep.yaml#/X/properties/y' }\n"),
        (
            "node.yaml",
            "Node:\n  required: [next, value]\n  properties:\n    value: { type: integer }\n    next: { $ref: 'more/again.json#/Node' }\n",
        ),
        (
            "more/again.json",
            "{ \"Node\": { \"properties\": { \"back\": { \"$ref\": \"../node.yaml#/Node\" }, \"n\": { \"example\": 3 } } } }",
        ),
    ]);
    let plan = read(&folder, &document(reference("node.yaml#/Node"))).plan;
    assert!(
        plan.contains("json = { next = { n = 3 }, value = 1 }"),
        "{plan}"
    );
    for to in [
        "a.yaml",
        "openapi.json",
        "deep.yaml#/X",
        "deep.yaml#/X/properties/y",
    ] {
        let plan = read(&folder, &document(reference(to))).plan;
        assert!(plan.contains("user:post(\"/pets\""), "{to}: {plan}");
    }
}

#[test]
fn more_files_than_anybody_writes_are_not_read() {
    let folder = folder(&[]);
    fs::create_dir_all(folder.path().join("api")).expect("it is made");
    // A chain that is too long for one schema.
    for number in 0..100 {
        let next = format!("$ref: '{}.yaml'\n", number + 1);
        fs::write(folder.path().join(format!("api/{number}.yaml")), next).expect("it is written");
    }
    let notes = read(&folder, &document(reference("0.yaml"))).notes;
    let expected = "a schema is put together from more than 64 parts, and the others are left out (POST /pets)";
    assert_eq!(notes, [expected]);
    // A file for each of many operations.
    let mut many = document(json!({}));
    for number in 0..10_100 {
        let item = format!("{{ \"get\": {{ \"description\": \"{number}\" }} }}");
        fs::write(folder.path().join(format!("api/p{number}.json")), item).expect("written");
        many["paths"][format!("/p{number}")] = reference(&format!("p{number}.json"));
    }
    let imported = read(&folder, &many);
    let lost = "which is one of more than 10000 files, and not read";
    let notes = imported.notes.iter().filter(|note| note.contains(lost));
    assert_eq!(notes.count(), 41, "{:?}", imported.notes);
    let rest = "and 60 more of such notes, the first: at '/paths/~1p";
    let is_rest = |note: &String| note.starts_with(rest);
    assert!(imported.notes.iter().any(is_rest), "{:?}", imported.notes);
    // Together they are large.
    let text = format!("a: {}\n", "x".repeat(12 << 20));
    for name in ["l1.yaml", "l2.yaml", "l3.yaml"] {
        fs::write(folder.path().join("api").join(name), &text).expect("it is written");
    }
    let all = ["l1.yaml", "l2.yaml", "l3.yaml"].map(reference);
    let notes = read(&folder, &document(json!({ "allOf": all }))).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("'l3.yaml', which is not read"),
        "{notes:?}"
    );
    assert!(notes[0].contains("32 MiB together"), "{notes:?}");
    // After a few that stand for too much no more are tried.
    let names: Vec<String> = (0..9).map(|n| format!("bomb{n}.yaml")).collect();
    for name in &names {
        fs::write(folder.path().join("api").join(name), bomb()).expect("it is written");
    }
    let all: Vec<Value> = names.iter().map(|name| reference(name)).collect();
    let notes = read(&folder, &document(json!({ "allOf": all }))).notes;
    let counted = |part: &str| notes.iter().filter(|note| note.contains(part)).count();
    assert_eq!(counted("stands for more than is read"), 2, "{notes:?}");
    assert_eq!(counted("is left out"), 7, "{notes:?}");
    // Many missing ones have a few notes.
    let all: serde_json::Map<String, Value> = (0..300)
        .map(|n| (format!("p{n:03}"), reference(&format!("no/{n:03}.yaml"))))
        .collect();
    let notes = read(&folder, &document(json!({ "properties": all }))).notes;
    assert_eq!(notes.len(), 41, "{notes:?}");
    let start = "and 260 more of such notes, the first (POST /pets): ";
    assert!(notes[40].starts_with(start), "{notes:?}");
}

#[test]
fn files_that_no_request_needs_are_not_read() {
    let folder = folder(&[(
        "pet.yaml",
        "properties: { name: { type: string, example: tom }, owner: { $ref: none.yaml } }\nrequired: [name]\n",
    )]);
    let mut whole = document(reference("pet.yaml"));
    let far = json!({ "content": { "application/json": { "schema": reference("far.yaml") } } });
    whole["paths"]["/pets"]["post"]["responses"] =
        json!({ "200": far, "404": reference("lost.yaml") });
    whole["components"]["schemas"]["Unused"] = reference("unused.yaml");
    let imported = read(&folder, &whole);
    assert!(
        imported.plan.contains("json = { name = \"tom\" }"),
        "{}",
        imported.plan
    );
    assert_eq!(imported.notes, [""; 0]);
    // A missing file that is needed has one note, with the operations that do without it.
    for path in ["/a", "/b", "/c", "/d", "/e"] {
        let body =
            json!({ "content": { "application/json": { "schema": reference("gone.yaml") } } });
        whole["paths"][path] = json!({ "post": { "requestBody": body } });
    }
    let notes = read(&folder, &whole).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("'gone.yaml', which cannot be read"),
        "{notes:?}"
    );
    assert!(
        notes[0].ends_with("(POST /a, POST /b, POST /c and 2 more)"),
        "{notes:?}"
    );
}
