//! Every part of a collection is in the plan or in the notes: random collections whose every part bears a word of its
//! own.

use super::{ImportOptions, Imported, import};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// The number of collections that are made.
const RUNS: u64 = 500;

/// Words that must be found again.
struct Marks {
    random: Xoshiro256PlusPlus,
    made: u32,
    all: Vec<String>,
}

impl Marks {
    /// Returns a new word.
    fn word(&mut self) -> String {
        self.made += 1;
        let word = format!("mk{}q", self.made);
        self.all.push(word.clone());
        word
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.random.random_range(0..one_in) == 0
    }

    /// Returns up to three things.
    fn some(&mut self, make: impl Fn(&mut Marks) -> Value) -> Value {
        let count = self.random.random_range(0..4);
        Value::Array((0..count).map(|_| make(self)).collect())
    }

    /// Returns a value with signs around it that have a meaning somewhere.
    fn value(&mut self) -> String {
        const SIGNS: [&str; 10] = ["", " ", "&", "=", "'", "{{n}}", "é", "#", "[]", "\\"];
        let word = self.word();
        let at = self.random.random_range(0..SIGNS.len());
        format!("{word}{}", SIGNS[at])
    }

    fn pair(&mut self) -> Value {
        let (key, value) = (self.word(), self.value());
        json!({ "key": key, "value": value })
    }

    fn url(&mut self) -> Value {
        let path = self.word();
        match self.random.random_range(0..4) {
            0 => json!(format!("http://127.0.0.1:8/{path}")),
            1 => {
                let (name, value) = (self.word(), self.word());
                json!(format!("{{{{base}}}}/{path}?{name}={value}#part"))
            }
            2 => {
                let query = self.some(Marks::pair);
                json!({ "raw": format!("http://127.0.0.1:8/{path}"), "query": query })
            }
            _ => {
                let (value, query) = (self.word(), self.some(Marks::pair));
                json!({
                    "protocol": "http", "host": ["127", "0", "0", "1"], "port": "8", "path": [path, ":id"],
                    "query": query, "variable": [{ "key": "id", "value": value }],
                })
            }
        }
    }

    fn body(&mut self) -> Value {
        match self.random.random_range(0..6) {
            0 => json!({ "mode": "urlencoded", "urlencoded": self.some(Marks::pair) }),
            1 => {
                let mut parts = self.some(Marks::pair);
                let (name, file) = (self.word(), self.word());
                if let Some(parts) = parts.as_array_mut() {
                    parts.push(
                        json!({ "key": name, "type": "file", "src": [format!("/x/{file}.png")] }),
                    );
                }
                json!({ "mode": "formdata", "formdata": parts })
            }
            2 => json!({ "mode": "raw", "raw": self.value() }),
            3 => {
                let (name, value, bare) = (self.word(), self.value(), self.word());
                let text = json!({ name: [value, null], "bare": bare }).to_string();
                json!({ "mode": "raw", "raw": text, "options": { "raw": { "language": "json" } } })
            }
            4 => {
                let (query, variable) = (self.word(), self.word());
                let variables = json!({ "v": variable }).to_string();
                json!({ "mode": "graphql", "graphql": { "query": query, "variables": variables } })
            }
            _ => json!({ "mode": "file", "file": { "src": format!("/y/{}.bin", self.word()) } }),
        }
    }

    fn script(&mut self) -> Value {
        let (name, step) = (self.word(), self.word());
        let line = match self.random.random_range(0..8) {
            0 => format!("pm.environment.set('{name}', pm.response.json().{step});"),
            1 => format!(
                "const j = pm.response.json(); if (j.{step}) {{ pm.globals.set('{name}', j.{step}) }}"
            ),
            2 => format!("pm.expect(pm.response.json().{name}).to.eql('{step}');"),
            3 => format!("pm.expect(pm.response.text()).to.include('{name} {step}');"),
            4 => format!("{name}({step});"),
            5 => format!("for (const x of {name}) {{ {step} }}"),
            6 => format!("if ({name}({step})) {{ f(); }}"),
            _ => format!("pm.environment.set('{name}', {step}());"),
        };
        json!({ "listen": "test", "script": { "exec": [line] } })
    }

    fn item(&mut self, deep: usize) -> Value {
        let name = self.word();
        if deep < 2 && self.chance(4) {
            // An empty folder is nothing.
            let first = self.item(2);
            let mut items = vec![first];
            if let Value::Array(more) = self.some(|marks| marks.item(deep + 1)) {
                items.extend(more);
            }
            return json!({ "name": name, "item": items });
        }
        const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PURGE"];
        let method = METHODS[self.random.random_range(0..METHODS.len())];
        let mut request = json!({ "method": method, "url": self.url() });
        request["header"] = self.some(|marks| {
            let (key, value) = (marks.word(), marks.word());
            json!({ "key": format!("X-{key}"), "value": value })
        });
        if matches!(method, "POST" | "PUT" | "DELETE") && self.chance(2) {
            request["body"] = self.body();
        }
        if self.chance(4) {
            let user = self.word();
            request["auth"] =
                json!({ "type": "basic", "basic": { "username": user, "password": "pw" } });
        }
        let events = if self.chance(2) {
            json!([self.script()])
        } else {
            json!([])
        };
        json!({ "name": name, "request": request, "event": events })
    }
}

#[test]
fn nothing_of_a_collection_vanishes_without_a_word() {
    for seed in 0..RUNS {
        let mut marks = Marks {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            made: 0,
            all: Vec::new(),
        };
        let (first, more) = (marks.item(2), marks.some(|marks| marks.item(0)));
        let mut items = vec![first];
        items.extend(more.as_array().into_iter().flatten().cloned());
        let collection = json!({
            "info": { "name": "c", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
            "item": items, "variable": [{ "key": "base", "value": "http://127.0.0.1:8" }, { "key": "n", "value": "7" }],
        });
        let imported = import(
            "a file",
            collection.to_string().as_bytes(),
            &ImportOptions::default(),
        );
        let Imported { plan, notes, .. } =
            imported.unwrap_or_else(|error| panic!("{seed}: {error}"));
        let notes = notes.join("\n");
        let lost: Vec<&String> = marks
            .all
            .iter()
            .filter(|word| !plan.contains(*word) && !notes.contains(*word))
            .collect();
        assert!(
            lost.is_empty(),
            "seed {seed}: {lost:?} of\n{collection:#}\nin\n{plan}\n{notes}"
        );
    }
}
