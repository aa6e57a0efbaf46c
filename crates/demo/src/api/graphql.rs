//! The shop's products over GraphQL: `product(id: Int!)` and `products(first: Int)`, with variables, aliases and
//! nested selections; no fragments, mutations or introspection.

use super::products;
use serde_json::{Map, Value, json};

/// The most selections inside each other.
const MAX_DEPTH: u32 = 32;

/// The number of products in a list by default.
const FIRST: u64 = 10;

/// Executes `{ query, variables }`: `data`, or `errors` as the only key.
pub(super) fn execute(request: &Value) -> Value {
    match run(request) {
        Ok(data) => json!({ "data": data }),
        Err(why) => json!({ "errors": [{ "message": why }] }),
    }
}

fn run(request: &Value) -> Result<Value, String> {
    let query = request["query"].as_str().ok_or("there is no 'query'")?;
    let mut data = Map::new();
    for field in Query::read(query)? {
        let value = match &*field.name {
            "product" => {
                let id = field
                    .number("id", request)?
                    .ok_or("'product' needs the argument 'id'")?;
                products::product(id).unwrap_or_default()
            }
            "products" => products::list(field.number("first", request)?.unwrap_or(FIRST)),
            name => return Err(format!("cannot query field '{name}' on type 'Query'")),
        };
        let value = field.pick(value)?;
        data.insert(field.alias, value);
    }
    Ok(data.into())
}

/// A field that a query selects, with its arguments as they are written.
#[derive(Default)]
struct Field {
    /// Its name in the response.
    alias: String,
    name: String,
    arguments: Vec<(String, String)>,
    fields: Vec<Field>,
}

impl Field {
    /// Returns the part of a value that the field selects.
    fn pick(&self, value: Value) -> Result<Value, String> {
        match value {
            Value::Array(list) => list.into_iter().map(|value| self.pick(value)).collect(),
            Value::Object(object) if self.fields.is_empty() => Err(format!(
                "field '{}' needs a selection of {}",
                self.name,
                object.keys().cloned().collect::<Vec<_>>().join(", ")
            )),
            Value::Object(object) => {
                let mut picked = Map::new();
                for part in &self.fields {
                    let value = object.get(&part.name).cloned();
                    let value = value.ok_or_else(|| {
                        format!("cannot query field '{}' of '{}'", part.name, self.name)
                    })?;
                    picked.insert(part.alias.clone(), part.pick(value)?);
                }
                Ok(picked.into())
            }
            value if value.is_null() || self.fields.is_empty() => Ok(value),
            _ => Err(format!("field '{}' has no fields of its own", self.name)),
        }
    }

    /// Returns the whole number that is an argument of the field, itself or as a variable.
    fn number(&self, name: &str, request: &Value) -> Result<Option<u64>, String> {
        let argument = self.arguments.iter().find(|(key, _)| key == name);
        let number = match argument.map(|(_, value)| &**value) {
            None | Some("null") => return Ok(None),
            Some(value) => match value.strip_prefix('$') {
                Some(variable) => request["variables"][variable].as_u64(),
                None => value.parse().ok(),
            },
        };
        let wrong = || {
            format!(
                "argument '{name}' of '{}' must be a whole number",
                self.name
            )
        };
        number.map(Some).ok_or_else(wrong)
    }
}

/// The rest of a query that is being read: the part of GraphQL's grammar that this site knows.
struct Query<'a> {
    rest: &'a str,
    /// The depth of nested selections.
    depth: u32,
}

impl Query<'_> {
    /// Returns the fields of a document that is one query.
    fn read(text: &str) -> Result<Vec<Field>, String> {
        let mut query = Query {
            rest: text,
            depth: 0,
        };
        let head = query.token();
        if head != "{" {
            if head != "query" {
                return Err(format!("expected one query, got '{head}'"));
            }
            // The name, and the types of variables, which their use shows.
            while query.peek() != "{" {
                if query.token().is_empty() {
                    return Err("the query has no selection".to_owned());
                }
            }
            query.token();
        }
        let fields = query.selection()?;
        match query.token() {
            "" => Ok(fields),
            more => Err(format!("expected the end of the query, got '{more}'")),
        }
    }

    /// Returns the fields up to the brace that closes them.
    fn selection(&mut self) -> Result<Vec<Field>, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} selections are nested"));
        }
        self.depth += 1;
        let mut fields = Vec::new();
        while self.peek() != "}" {
            fields.push(self.field()?);
        }
        self.token();
        self.depth -= 1;
        if fields.is_empty() {
            return Err("a selection is empty".to_owned());
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, String> {
        let alias = self.name()?;
        let name = if self.skip(":") {
            self.name()?
        } else {
            alias.clone()
        };
        let mut field = Field {
            alias,
            name,
            ..Field::default()
        };
        if self.skip("(") {
            while !self.skip(")") {
                let key = self.name()?;
                if !self.skip(":") {
                    return Err(format!("the argument '{key}' has no value"));
                }
                let sign = if self.skip("$") { "$" } else { "" };
                field
                    .arguments
                    .push((key, format!("{sign}{}", self.token())));
            }
        }
        if self.skip("{") {
            field.fields = self.selection()?;
        }
        Ok(field)
    }

    fn name(&mut self) -> Result<String, String> {
        let token = self.token();
        if token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Ok(token.to_owned());
        }
        Err(match token {
            "" => "the query ends too early".to_owned(),
            "..." => "fragments are not known here".to_owned(),
            other => format!("expected a name, got '{other}'"),
        })
    }

    /// Takes the next token if it is that one.
    fn skip(&mut self, token: &str) -> bool {
        let is_next = self.peek() == token;
        if is_next {
            self.token();
        }
        is_next
    }

    fn peek(&self) -> &str {
        Query { ..*self }.token()
    }
}

impl<'a> Query<'a> {
    /// Takes the next token: a name or a number, a text in quotes, `...`, or one sign; empty at the end. Comments are left out.
    fn token(&mut self) -> &'a str {
        let is_ignored = |c: char| c.is_whitespace() || c == ',';
        let mut rest = self.rest.trim_start_matches(is_ignored);
        while rest.starts_with('#') {
            let line = rest.find('\n').unwrap_or(rest.len());
            rest = rest[line..].trim_start_matches(is_ignored);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let length = match rest.chars().next() {
            Some('"') => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            Some(sign) => word.max(sign.len_utf8()),
            None => 0,
        };
        let (token, rest) = rest.split_at(length);
        self.rest = rest;
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute_query(query: &str) -> Value {
        execute(&json!({ "query": query, "variables": { "id": 7 } }))
    }

    #[test]
    fn a_query_gets_what_it_selects() {
        for (query, data) in [
            (
                "{ product(id: 1) { id name } }",
                json!({ "product": { "id": 1, "name": "red kettle" } }),
            ),
            (
                "query Q($id: Int!) { it: product(id: $id) { id } }",
                json!({ "it": { "id": 7 } }),
            ),
            (
                "{ products(first: 2) { maker { country } } }",
                json!({ "products": [
                { "maker": { "country": "Sweden" } }, { "maker": { "country": "Spain" } } ] }),
            ),
            ("{ product(id: 1000) { id } }", json!({ "product": null })),
            (
                "# all\n{ product(id: 7) { # its number\n id } } # }",
                json!({ "product": { "id": 7 } }),
            ),
        ] {
            assert_eq!(execute_query(query), json!({ "data": data }), "{query}");
        }
    }

    #[test]
    fn a_wrong_query_gets_errors_and_no_data() {
        let deep = "{ product(id: 1) ".to_owned() + &"{ a ".repeat(100_000);
        for query in [
            "",
            "{",
            "{ nothing }",
            "{ product { id } }",
            "{ product(id: \"x\") { id } }",
            "{ product(id: $none) { id } }",
            "{ product(id: 1) }",
            "{ product(id: 1) { weight } }",
            "{ product(id: 1) { name { length } } }",
            "mutation { buy }",
            &deep,
        ] {
            let response = execute_query(query);
            let message = response["errors"][0]["message"].as_str();
            assert!(
                message.is_some() && response["data"].is_null(),
                "{response}"
            );
        }
        assert!(execute(&json!([]))["errors"].is_array());
    }
}
