//! The shop's products over GraphQL: `product(id: Int!)` and `products(first: Int)`, with variables, aliases and
//! nested selections; no fragments, mutations or introspection.

use graphql_parser::query::{
    Definition, Document, Field, OperationDefinition, Selection, SelectionSet, Value as Literal,
};
use serde_json::{Map, Value, json};

use super::products;

/// The number of products in a list if the query does not say.
const FIRST: u64 = 10;

/// Answers `{ query, variables }` with `data`, or with `errors` as the only key.
pub(super) fn execute(request: &Value) -> Value {
    match run(request) {
        Ok(data) => json!({ "data": data }),
        Err(why) => json!({ "errors": [{ "message": why }] }),
    }
}

fn run(request: &Value) -> Result<Value, String> {
    let query = request["query"].as_str().ok_or("there is no 'query'")?;
    let document: Document<'_, &str> =
        graphql_parser::parse_query(query).map_err(|error| error.to_string())?;
    let fields = match &document.definitions[..] {
        [Definition::Operation(OperationDefinition::Query(query))] => &query.selection_set,
        [Definition::Operation(OperationDefinition::SelectionSet(fields))] => fields,
        _ => return Err("expected one query, without fragments".to_owned()),
    };
    let mut data = Map::new();
    for field in fields_of(fields)? {
        let value = match field.name {
            "product" => {
                let id =
                    number(field, "id", request)?.ok_or("'product' needs the argument 'id'")?;
                products::product(id).unwrap_or_default()
            }
            "products" => products::list(number(field, "first", request)?.unwrap_or(FIRST)),
            name => return Err(format!("cannot query field '{name}' on type 'Query'")),
        };
        let value = pick(value, field)?;
        data.insert(shown_name(field), value);
    }
    Ok(data.into())
}

/// The part of a value that the field selects.
fn pick<'q>(value: Value, field: &Field<'q, &'q str>) -> Result<Value, String> {
    let selection = &field.selection_set;
    match value {
        Value::Array(list) => list.into_iter().map(|value| pick(value, field)).collect(),
        Value::Object(object) if selection.items.is_empty() => Err(format!(
            "field '{}' needs a selection of {}",
            field.name,
            object.keys().cloned().collect::<Vec<_>>().join(", ")
        )),
        Value::Object(object) => {
            let mut picked = Map::new();
            for part in fields_of(selection)? {
                let value = object.get(part.name).cloned();
                let value = value.ok_or_else(|| {
                    format!("cannot query field '{}' of '{}'", part.name, field.name)
                })?;
                picked.insert(shown_name(part), pick(value, part)?);
            }
            Ok(picked.into())
        }
        value if value.is_null() || selection.items.is_empty() => Ok(value),
        _ => Err(format!("field '{}' has no fields of its own", field.name)),
    }
}

fn fields_of<'a, 'q>(
    selection: &'a SelectionSet<'q, &'q str>,
) -> Result<Vec<&'a Field<'q, &'q str>>, String> {
    let fields = selection.items.iter().map(|item| match item {
        Selection::Field(field) => Ok(field),
        _ => Err("fragments are not known here".to_owned()),
    });
    fields.collect()
}

fn shown_name<'q>(field: &Field<'q, &'q str>) -> String {
    field.alias.unwrap_or(field.name).to_owned()
}

/// The whole number that is an argument of a field, itself or as a variable.
fn number<'q>(
    field: &Field<'q, &'q str>,
    name: &str,
    request: &Value,
) -> Result<Option<u64>, String> {
    let argument = field.arguments.iter().find(|(key, _)| *key == name);
    let number = match argument {
        None | Some((_, Literal::Null)) => return Ok(None),
        Some((_, Literal::Int(number))) => number.as_i64().and_then(|n| u64::try_from(n).ok()),
        Some((_, Literal::Variable(variable))) => request["variables"][*variable].as_u64(),
        Some(_) => None,
    };
    let wrong = || {
        format!(
            "argument '{name}' of '{}' must be a whole number",
            field.name
        )
    };
    number.map(Some).ok_or_else(wrong)
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
