//! `lgoose import`: reads a recording, prints its plan, writes the files that belong to it, and prints the remaining
//! steps.

use super::screen::{aside, put};
use crate::cli;
use lgoose_base::error::{Diagnostic, Error, Trouble, exit};
use lgoose_base::files;
use lgoose_import::ImportOptions;
use std::fs::OpenOptions;
use std::io::{BufReader, ErrorKind, Write as _};
use std::path::Path;

/// Imports the file that the flags name.
///
/// # Errors
/// A mistake for input that cannot be read or a file that already exists with other contents; trouble with writing.
pub(super) fn import(flags: &cli::ImportArgs) -> Result<u8, Error> {
    let choices = ImportOptions {
        hosts: flags.hosts.clone(),
        site: flags.site.clone(),
        files: flags.to.is_some(),
        environments: flags.environment.clone(),
        data: flags.data.clone(),
        path: Some(flags.file.clone())
            .filter(|path| path.as_os_str() != "-" && !files::is_handed_over(path)),
    };
    let imported = if flags.file.as_os_str() == "-" {
        lgoose_import::import("standard input", std::io::stdin().lock(), &choices)?
    } else {
        let name = flags.file.display().to_string();
        let file = files::open(&flags.file).map_err(|error| {
            Diagnostic::new(format!("cannot read '{name}': {error}")).help(
                "name a HAR file or a file with a curl command line, or '-' for standard input",
            )
        })?;
        lgoose_import::import(
            &format!("'{name}'"),
            BufReader::with_capacity(1 << 16, file),
            &choices,
        )?
    };
    if let Some(folder) = &flags.to {
        for (name, content) in &imported.files {
            write(folder, name, content)?;
        }
    }
    put(imported.plan.into_bytes())?;
    for note in &imported.notes {
        aside(&format!("note: {note}"));
    }
    Ok(exit::OK)
}

/// Writes a new file. A file that already exists must have the same contents.
fn write(folder: &Path, name: &str, content: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    std::fs::create_dir_all(folder)
        .map_err(|error| Trouble::cannot("make").with_path(folder).because(error))?;
    let opened = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if files::read(&path).is_ok_and(|found| found == content) {
                return Ok(());
            }
            let message = format!("'{}' is there already, with other contents", path.display());
            return Err(Diagnostic::new(message)
                .help("name another folder with '--to', or remove the file")
                .into());
        }
        Err(error) => {
            return Err(Trouble::cannot("write")
                .with_path(&path)
                .because(error)
                .into());
        }
    };
    file.write_all(content).map_err(|error| {
        Trouble::cannot("write")
            .with_path(&path)
            .because(error)
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::loading;
    use lgoose_base::files::{FileReach, PlanFolder};
    use lgoose_lua::EnvVariables;
    use serde_json::json;

    fn folder() -> PlanFolder {
        PlanFolder::new(Path::new(""), FileReach::Folder)
    }

    /// Texts that try to break out of a literal, a comment or a pattern.
    const HOSTILE: [&str; 7] = [
        "\" .. os.exit() .. \"",
        "]] os.exit() --[[",
        "a\nos.exit()\r\0\u{7f}\u{202e}",
        "\\",
        "end }, function(user)",
        "'$(reboot)`{{}}%s",
        "<title>\u{1f986}&quot;</title>",
    ];

    #[test]
    fn hostile_recordings_become_plans_that_load() {
        // With times that make no sense, and with times of simultaneous calls.
        let alike = HOSTILE.map(|text| (text, "2026-05-04T10:00:00Z"));
        let odd = HOSTILE.map(|text| (text, text));
        for (text, start) in alike.into_iter().chain(odd) {
            let page = format!(
                "<title>{text} | x</title><form id='{text}' action='/f' method=post><input name='{text}' value='{text}'></form>\
                 <meta name='{text}' content='a1b2c3d4e5f6a7b8'>var x = '{text}9Z8y7X6w5V4u3T';"
            );
            let entry = |method: &str, path: &str, body: serde_json::Value| {
                json!({
                    "startedDateTime": start, "time": 50, "_resourceType": if path == "/call" { "xhr" } else { "document" },
                    "request": {
                        "method": method, "url": format!("http://127.0.0.1{path}?{text}={text}"),
                        "headers": [
                            { "name": text, "value": text }, { "name": "x-csrf", "value": "9Z8y7X6w5V4u3T" },
                            { "name": "x-own", "value": text }, { "name": "cookie", "value": format!("{text}={text}; sid={text}") },
                            { "name": "authorization", "value": format!("Bearer {text}") },
                        ],
                        "postData": body,
                    },
                    "response": {
                        "status": 200, "headers": [{ "name": "x-token", "value": text }],
                        "content": { "mimeType": "text/html", "text": page },
                    },
                })
            };
            let form = json!({ "mimeType": "application/x-www-form-urlencoded", "params": [{ "name": text, "value": text }, { "name": "pass", "value": text }] });
            let json = json!({ "mimeType": "application/json", "text": json!({ text: [text, null, {}, []], "end": "a1b2c3d4e5f6a7b8" }).to_string() });
            let multipart = json!({ "mimeType": "multipart/form-data", "params": [{ "name": text, "value": text, "fileName": text, "contentType": text }] });
            let plain = json!({ "mimeType": text, "text": text });
            let har = json!({ "log": { "entries": [
                entry("GET", "/", json!(null)), entry("POST", "/f", form), entry("POST", "/call", json),
                entry("PUT", "/call", multipart), entry("DELETE", "/call", plain),
            ] } });
            let imported = lgoose_import::import(
                "a file",
                har.to_string().as_bytes(),
                &ImportOptions::default(),
            );
            let imported = imported.expect("it can be read");
            let loaded = loading::load(
                "plan.lua",
                &imported.plan,
                EnvVariables::default(),
                Some(0),
                0,
                &folder(),
                loading::MemoryLimits::default(),
            );
            let (_, plan, _) = loaded.unwrap_or_else(|error| panic!("{error}\n{}", imported.plan));
            assert_eq!(plan.scenarios.len(), 1, "{}", imported.plan);
            assert_eq!(imported.plan.contains("user:batch {"), start != text);
            assert!(
                imported
                    .plan
                    .lines()
                    .all(|line| !line.trim_start().starts_with("os.exit")),
                "{}",
                imported.plan
            );
        }
    }

    /// A document whose rarer parts have a text everywhere, and lists that are long and new in each request.
    fn odd_document(text: &str) -> serde_json::Value {
        let ids = json!({ "type": "array", "minItems": 150, "items": { "type": "string", "format": "uuid" } });
        let mut parameters = vec![
            json!({ "name": text, "in": "querystring", "required": true, "content": { "application/x-www-form-urlencoded": { "example": { text: text } } } }),
        ];
        for (place, style) in [
            ("path", "matrix"),
            ("query", "pipeDelimited"),
            ("header", "simple"),
            ("cookie", "form"),
        ] {
            let name = format!("x-{style}");
            parameters.push(json!({ "name": name, "in": place, "style": style, "explode": false, "required": true, "schema": ids }));
            parameters.push(json!({ "name": text, "in": place, "style": text, "required": true, "example": { text: [text] } }));
        }
        let discriminator = json!({ "propertyName": text, "mapping": { text: text } });
        let schema = json!({ "oneOf": [{ "$ref": format!("#/components/schemas/{text}") }], "discriminator": discriminator });
        let form = json!({ "example": { text: { text: [text] }, "b": [text] }, "encoding": { text: { "contentType": text, "headers": { text: {} } }, "b": { "style": text } } });
        let links = json!({ text: { "operationId": text, "parameters": { text: format!("$response.body#/{text}") } } });
        json!({
            "openapi": "3.2.0", "info": { "title": text }, "webhooks": { text: {} },
            "components": { "schemas": { text: { "type": "object" } }, "securitySchemes": { text: { "type": "http", "scheme": "bearer" }, "b": { "type": "apiKey", "name": text, "in": text } } },
            "paths": {
                "/a/{x-matrix}": { "get": { "parameters": parameters }, "delete": { "parameters": parameters } },
                "/b": { "post": { "requestBody": { "content": { "application/json": { "schema": schema } } }, "responses": { "201": { "links": links } } } },
                format!("/c/{{{text}}}"): { "query": { "operationId": text }, "additionalOperations": { text: {}, "COPY": {} } },
                format!("/d/{{{text}}}/{{id}}"): { "get": {}, "put": {}, "post": { "callbacks": { text: {} } } },
                "/e": { "post": { "requestBody": { "content": { "application/x-www-form-urlencoded": form } } } },
                "/f": { "post": { "requestBody": { "content": { "multipart/form-data": form } } } },
            },
        })
    }

    /// A document of Swagger 2.0 that has a text everywhere.
    fn odd_swagger(text: &str) -> serde_json::Value {
        let parameters = ["path", "query", "header", "formData"].map(|place| {
            json!({ "name": text, "in": place, "required": true, "type": "array", "items": { "default": text }, "collectionFormat": text })
        });
        let body =
            json!({ "in": "body", "name": text, "x-example": text, "schema": { "$ref": text } });
        json!({
            "swagger": "2.0", "info": { "title": text }, "host": text, "basePath": text, "schemes": [text], "consumes": [text],
            "securityDefinitions": { text: { "type": "basic" } }, "security": [{ text: [] }],
            "paths": {
                format!("/{{{text}}}"): { "post": { "parameters": parameters, "responses": { text: { "schema": { "$ref": text } } } } },
                "/b": { "put": { "parameters": [body], "responses": { "200": { "$ref": text } } } },
            },
        })
    }

    #[test]
    fn hostile_descriptions_of_an_api_become_plans_that_load() {
        for text in HOSTILE {
            let pair = json!({ "key": text, "value": text });
            let request = |mode: &str, body: serde_json::Value| {
                json!({
                    "name": text, "response": [{ "code": 200 }],
                    "event": [
                        { "listen": "test", "script": { "exec": [text, format!("pm.environment.set(\"{text}\", pm.response.json()['{text}']);"), format!("pm.environment.set('a', `{text}`)")] } },
                    ],
                    "request": {
                        "method": text, "header": [pair, { "key": "x-own", "value": text }, { "key": "cookie", "value": format!("{text}={text}") }],
                        "auth": { "type": text, text: [pair] }, "body": { "mode": mode, mode: body },
                        "url": { "raw": format!("http://127.0.0.1/{text}/:{text}"), "query": [pair], "variable": [pair] },
                    },
                })
            };
            let items = [
                request("raw", json!(json!({ text: text, "a": [text] }).to_string())),
                request("raw", json!(text)),
                request("urlencoded", json!([pair])),
                request(
                    "formdata",
                    json!([pair, { "key": text, "type": "file", "src": text }]),
                ),
                request("graphql", json!({ "query": text, "variables": text })),
            ];
            let collection = json!({ "info": { "name": text, "schema": "v2.1.0" }, "variable": [pair, { "key": "used", "value": text }], "item": [{ "name": text, "item": items }] });
            let schema = json!({ "type": "object", "properties": { text: { "type": "string", "example": text }, "b": { "type": "string", "pattern": text, "default": text } } });
            let parameters: Vec<_> = ["path", "query", "header", "cookie"]
                .map(|place| json!({ "name": text, "in": place, "required": true, "schema": { "type": "string", "example": text } }))
                .to_vec();
            let content = |media: &str| json!({ "content": { media: { "schema": schema } } });
            let document = json!({
                "openapi": "3.1.0", "info": { "title": text }, "servers": [{ "url": format!("http://127.0.0.1/{text}") }],
                "components": { "securitySchemes": { text: { "type": "apiKey", "in": "query", "name": text } } },
                "paths": {
                    format!("/{text}"): {
                        "post": { "tags": [text], "security": [{ text: [] }], "requestBody": content("application/json"),
                            "responses": { "201": content("application/json"), "200": { "content": { "application/json": { "example": { "id": 1 } } } } } },
                        "put": { "requestBody": content("multipart/form-data") },
                    },
                    "/elsewhere": { "$ref": text },
                    "/beside": { "$ref": format!("{text}.json#/{text}") },
                    format!("/{text}/{{id}}"): { "get": { "tags": [text], "parameters": parameters }, "patch": { "requestBody": content(text) } },
                    "/x/{a}/{b}.json": { "get": { "parameters": parameters }, "put": { "requestBody": content("application/x-www-form-urlencoded") } },
                },
            });
            let odd = odd_document(text);
            let swagger = odd_swagger(text);
            let nowhere = ImportOptions::default();
            let somewhere = ImportOptions {
                path: Some("openapi.json".into()),
                ..ImportOptions::default()
            };
            for (file, choices) in [
                (&collection, &nowhere),
                (&document, &nowhere),
                (&document, &somewhere),
                (&odd, &nowhere),
                (&swagger, &nowhere),
            ] {
                let imported =
                    lgoose_import::import("a file", file.to_string().as_bytes(), choices);
                let imported = imported.expect("it can be read");
                let loaded = loading::load(
                    "plan.lua",
                    &imported.plan,
                    EnvVariables::default(),
                    Some(0),
                    0,
                    &folder(),
                    loading::MemoryLimits::default(),
                );
                let (_, plan, _) =
                    loaded.unwrap_or_else(|error| panic!("{error}\n{}", imported.plan));
                assert_eq!(plan.scenarios.len(), 1, "{}", imported.plan);
                let mut lines = imported.plan.lines();
                assert!(
                    lines.all(|line| !line.trim_start().starts_with("os.exit")),
                    "{}",
                    imported.plan
                );
                assert!(
                    imported.notes.iter().all(|note| !note.contains('\n')),
                    "{:?}",
                    imported.notes
                );
            }
        }
    }

    #[test]
    fn more_variables_than_lua_has_locals_make_a_plan_that_loads() {
        let variables: Vec<_> = (0..300)
            .map(|number| json!({ "key": format!("v{number}"), "value": "x" }))
            .collect();
        let items: Vec<_> = (0..300)
            .map(|number| json!({ "request": format!("http://127.0.0.1/?a={{{{v{number}}}}}&b={{{{w{number}}}}}") }))
            .collect();
        let collection =
            json!({ "info": { "schema": "v2.1.0" }, "variable": variables, "item": items });
        let imported = lgoose_import::import(
            "a file",
            collection.to_string().as_bytes(),
            &ImportOptions::default(),
        );
        let imported = imported.expect("it can be read");
        let loaded = loading::load(
            "plan.lua",
            &imported.plan,
            EnvVariables::default(),
            Some(0),
            0,
            &folder(),
            loading::MemoryLimits::default(),
        );
        assert!(loaded.is_ok(), "{}", imported.plan);
        assert!(imported.plan.contains("b = env \"W"), "{}", imported.plan);
    }

    #[test]
    fn every_cut_of_a_recording_is_reported_and_none_panics() {
        let har = json!({ "log": { "entries": [{ "request": { "method": "GET", "url": "http://127.0.0.1/é" }, "response": { "status": 200 } }] } });
        let text = har.to_string();
        for end in 0..text.len() {
            let cut =
                lgoose_import::import("a file", &text.as_bytes()[..end], &ImportOptions::default());
            assert!(cut.is_err(), "{end}");
        }
        assert!(
            lgoose_import::import("a file", text.as_bytes(), &ImportOptions::default()).is_ok()
        );
    }
}
