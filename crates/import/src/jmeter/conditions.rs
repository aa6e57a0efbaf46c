//! Conditions of controllers: comparisons of variables with texts and numbers.

use super::draft::JmeterImport;
use crate::value_paths::pattern;

pattern!(
    CALL,
    r"^\$\{__(?:jexl2|jexl3|groovy|javaScript|evalVar)\((.*)\)\}$"
);
pattern!(GOT, r#"vars\.get\(\s*["']([\w.-]+)["']\s*\)"#);
pattern!(COMPARED, r"^(.*?)\s*(===|==|!=|>=|<=|>|<|=~)\s*(.*)$");
pattern!(EQUAL, r#"^(.*)\.equals\((.*)\)$"#);

/// Returns a condition as an expression of Lua; `None` if it is more than comparisons.
pub(super) fn read_condition<'a>(import: &mut JmeterImport<'a>, text: &str) -> Option<String> {
    let text = text.trim();
    let inner = CALL.captures(text).map_or(text, |found| {
        found.get(1).map_or("", |inner| inner.as_str().trim())
    });
    let inner = inner.trim_end_matches(',').replace("\\,", ",");
    let inner = GOT.replace_all(&inner, "$${$1}");
    let mut parts = Vec::new();
    for alternative in inner.split("||") {
        let each = alternative
            .split("&&")
            .map(|one| read_comparison(import, one.trim()));
        let each: Vec<String> = each.collect::<Option<_>>()?;
        parts.push(each.join(" and "));
    }
    Some(parts.join(" or "))
}

fn read_comparison<'a>(import: &mut JmeterImport<'a>, text: &str) -> Option<String> {
    let text = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
        .unwrap_or(text);
    if matches!(text, "true" | "false") {
        return Some(text.to_owned());
    }
    if let Some(inner) = text
        .strip_prefix('!')
        .filter(|inner| !inner.starts_with('='))
    {
        return Some(format!("not ({})", read_comparison(import, inner.trim())?));
    }
    if let Some(found) = EQUAL.captures(text) {
        let left = read_operand(import, &found[1])?;
        let right = read_operand(import, &found[2])?;
        return Some(format!("tostring({left}) == tostring({right})"));
    }
    let Some(found) = COMPARED.captures(text) else {
        // A variable alone is true or false as a text.
        let value = read_operand(import, text)
            .filter(|_| text.starts_with("${") || text.starts_with('"'))?;
        return Some(format!("{value} == \"true\""));
    };
    let (left, right) = (read_operand(import, &found[1])?, &found[3]);
    Some(match &found[2] {
        "==" | "===" => format!(
            "tostring({left}) == tostring({})",
            read_operand(import, right)?
        ),
        "!=" => format!(
            "tostring({left}) ~= tostring({})",
            read_operand(import, right)?
        ),
        "=~" => {
            let text = right.trim_matches(['"', '\'', '/']);
            pattern(text)?;
            format!("regex({}):test({left})", crate::lua_text::quoted(text))
        }
        order => format!(
            "(tonumber({left}) or 0) {order} (tonumber({}) or 0)",
            read_operand(import, right)?
        ),
    })
}

fn read_operand<'a>(import: &mut JmeterImport<'a>, text: &str) -> Option<String> {
    let text = text.trim();
    let quotes = ['"', '\''];
    let inner = quotes.iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(*quote)).then_some(inner)
    });
    let is_number = text.parse::<f64>().is_ok();
    let is_variable = text.starts_with("${")
        && text.ends_with('}')
        && !text.starts_with("${__")
        && !text.contains("JMeterThread");
    let value = inner.or((is_number || is_variable).then_some(text))?;
    Some(import.variables.value(value, &mut import.calls).render(4))
}
