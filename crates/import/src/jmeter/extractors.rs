//! Extractors: variables that take their values from a response.

use super::draft::JmeterImport;
use super::element::{JmeterElement, given};
use super::scope::JmeterScope;
use crate::calls::OutlineCall;
use crate::lua_text::{comment, field, quoted};
use crate::value_paths::{json_path, pattern};

/// The match that an extractor takes, where there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchChoice {
    /// The one of this number, from 1.
    Nth(u32),
    Random,
    /// All, as `name_1`, `name_2` and `name_matchNr`.
    All,
}

impl MatchChoice {
    fn of(text: &str) -> Option<MatchChoice> {
        Some(match text.trim() {
            "" => MatchChoice::Nth(1),
            number => match number.parse::<i64>().ok()? {
                0 => MatchChoice::Random,
                number if number < 0 => MatchChoice::All,
                number => MatchChoice::Nth(u32::try_from(number).ok()?),
            },
        })
    }
}

/// Adds to a request the statements of its extractors.
pub(super) fn add_extractors<'a>(
    import: &mut JmeterImport<'a>,
    scope: &JmeterScope<'a>,
    call: &mut OutlineCall,
) {
    for extractor in &scope.extractors {
        let carried = match extractor.kind() {
            "RegexExtractor" => by_pattern(import, *extractor, call),
            "BoundaryExtractor" => by_boundaries(import, *extractor, call),
            "HtmlExtractor" => by_selector(import, *extractor, call),
            _ => by_path(import, *extractor, call),
        };
        if carried.is_none() {
            let name = comment(extractor.name());
            let variables = extracted(*extractor).join(", ");
            call.note(format!(
                "left out the extractor '{name}', which sets {}: take the value from 'answer' in Lua and put it into 'user.data'",
                comment(&variables)
            ));
        }
    }
}

fn by_pattern<'a>(
    import: &mut JmeterImport<'a>,
    extractor: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let of = |name: &str| extractor.property(name);
    let text = import.variables.fixed(of("RegexExtractor.regex"))?;
    let template = given(of("RegexExtractor.template").trim(), "$1$");
    let group = template.strip_prefix('$')?.strip_suffix('$')?;
    let text = only_group(&text, group.parse().ok()?)?;
    let choice = MatchChoice::of(of("RegexExtractor.match_number"))?;
    let (text, source) = match of("RegexExtractor.useHeaders").trim() {
        "" | "false" | "unescaped" => (text, "answer".to_owned()),
        "URL" => (text, "answer.url or \"\"".to_owned()),
        "code" => (text, "tostring(answer.status)".to_owned()),
        // The pattern names its header.
        "true" => {
            let (name, rest) = text.split_once(':')?;
            let name = name.trim_start_matches('^');
            let is_name = name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let rest = rest.trim_start_matches(' ');
            let rest = rest
                .strip_prefix("\\s*")
                .or(rest.strip_prefix("\\s"))
                .unwrap_or(rest);
            is_name.then(|| {
                (
                    rest.to_owned(),
                    format!("answer:header({}) or \"\"", quoted(name)),
                )
            })?
        }
        _ => return None,
    };
    pattern(&text)?;
    let (name, default) = (of("RegexExtractor.refname"), of("RegexExtractor.default"));
    let variable = ExtractedVariable::matched(name, default, choice, &text, &source);
    add_assignment(import, variable, call);
    Some(())
}

fn by_boundaries<'a>(
    import: &mut JmeterImport<'a>,
    extractor: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let of = |name: &str| extractor.property(&format!("BoundaryExtractor.{name}"));
    if !matches!(of("useHeaders").trim(), "" | "false" | "unescaped") {
        return None;
    }
    let left = import.variables.fixed(of("lboundary"))?;
    let right = import.variables.fixed(of("rboundary"))?;
    let text = format!(
        "(?s){}(.*?){}",
        regex::escape(&left),
        if right.is_empty() {
            "$".to_owned()
        } else {
            regex::escape(&right)
        }
    );
    let choice = MatchChoice::of(of("match_number"))?;
    let (name, default) = (of("refname"), of("default"));
    let variable = ExtractedVariable::matched(name, default, choice, &text, "answer");
    add_assignment(import, variable, call);
    Some(())
}

fn by_selector<'a>(
    import: &mut JmeterImport<'a>,
    extractor: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let of = |name: &str| extractor.property(&format!("HtmlExtractor.{name}"));
    let selector = import.variables.fixed(of("expr"))?;
    let attribute = import.variables.fixed(of("attribute"))?;
    let selector = quoted(selector.trim());
    let (first, each) = match attribute.trim() {
        "" => (
            format!("answer:text({selector})"),
            "element:text()".to_owned(),
        ),
        name => (
            format!("answer:attr({selector}, {})", quoted(name)),
            format!("element:attr({})", quoted(name)),
        ),
    };
    let choice = MatchChoice::of(of("match_number"))?;
    let all = match choice {
        MatchChoice::Nth(1) => String::new(),
        _ => {
            let name = import.calls.helper(
                "values_of",
                "function(elements, value)\n  local values = {}\n  for _, element in ipairs(elements) do\n    \
                 values[#values + 1] = value(element)\n  end\n  return values\nend",
            );
            format!("{name}(answer:css({selector}), function(element) return {each} end)")
        }
    };
    add_assignment(
        import,
        ExtractedVariable {
            name: of("refname"),
            default: of("default"),
            choice,
            first,
            all,
        },
        call,
    );
    Some(())
}

fn by_path<'a>(
    import: &mut JmeterImport<'a>,
    extractor: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let of = |name: &str| extractor.property(name);
    let list = |name: &str| of(name).split(';').collect::<Vec<&str>>();
    let (names, paths, numbers, defaults) = match extractor.kind() {
        "JMESPathExtractor" => (
            vec![of("JMESExtractor.referenceName")],
            vec![of("JMESExtractor.jmesPathExpr")],
            vec![of("JMESExtractor.matchNumber")],
            vec![of("JMESExtractor.defaultValue")],
        ),
        // Of a plugin.
        "JSONPathExtractor" if of("SUBJECT") == "VAR" => return None,
        "JSONPathExtractor" => (
            vec![of("VAR")],
            vec![of("JSONPATH")],
            Vec::new(),
            vec![of("DEFAULT")],
        ),
        _ => (
            list("JSONPostProcessor.referenceNames"),
            list("JSONPostProcessor.jsonPathExprs"),
            list("JSONPostProcessor.match_numbers"),
            list("JSONPostProcessor.defaultValues"),
        ),
    };
    let mut statements = OutlineCall::default();
    for (at, (name, path)) in names.iter().zip(&paths).enumerate() {
        let path = json_path(&import.variables.fixed(path.trim())?)?;
        let choice = MatchChoice::of(numbers.get(at).copied().unwrap_or_default())?;
        let default = defaults.get(at).copied().unwrap_or_default();
        let text = quoted(&path.text);
        let (first, all) = if path.is_list {
            let all = format!("{}(answer, {text})", import.json_list());
            (format!("{all}[1]"), all)
        } else {
            let value = format!("{}(answer, {text})", import.json_at());
            let all = format!("{{ {value} }}");
            (value, all)
        };
        let variable = ExtractedVariable {
            name,
            default,
            choice,
            first,
            all,
        };
        add_assignment(import, variable, &mut statements);
    }
    call.after.append(&mut statements.after);
    Some(())
}

/// A variable that an extractor sets.
struct ExtractedVariable<'a> {
    name: &'a str,
    /// The text where nothing matches.
    default: &'a str,
    choice: MatchChoice,
    /// The expression for the first match.
    first: String,
    /// The expression for the list of all matches.
    all: String,
}

impl<'a> ExtractedVariable<'a> {
    /// Makes a variable that takes its value from a text, an expression, by a pattern.
    fn matched(
        name: &'a str,
        default: &'a str,
        choice: MatchChoice,
        pattern: &str,
        source: &str,
    ) -> Self {
        let pattern = format!("regex({})", quoted(pattern));
        ExtractedVariable {
            name,
            default,
            choice,
            first: format!("{pattern}:match({source})"),
            all: format!("{pattern}:matches({source})"),
        }
    }
}

/// Adds the statement that sets a variable to the first match, or to one of all.
fn add_assignment<'a>(
    import: &mut JmeterImport<'a>,
    variable: ExtractedVariable<'_>,
    call: &mut OutlineCall,
) {
    let (name, first, all) = (variable.name.trim(), variable.first, variable.all);
    let default = import.variables.value(variable.default, &mut import.calls);
    let default = default.render(4);
    let target = format!("user.data{}", field(name));
    call.after.push(match variable.choice {
        MatchChoice::Nth(1) => format!("{target} = {first} or {default}"),
        MatchChoice::Nth(number) => format!("{target} = {all}[{number}] or {default}"),
        MatchChoice::Random => {
            let choose = import.calls.helper(
                "one_of",
                "function(list)\n  return #list > 0 and random.choice(list) or nil\nend",
            );
            format!("{target} = {choose}({all}) or {default}")
        }
        MatchChoice::All => {
            let keep = import.calls.helper(
                "keep_all",
                "function(user, name, values)\n  for number, value in ipairs(values) do\n    user.data[name .. \"_\" .. number] = value\n  end\n  \
                 user.data[name .. \"_\" .. #values + 1] = nil\n  user.data[name .. \"_matchNr\"] = #values\nend",
            );
            format!("{keep}(user, {}, {all})", quoted(name))
        }
    });
}

/// Returns the names of the variables that an extractor sets.
pub(super) fn extracted(extractor: JmeterElement<'_>) -> Vec<&str> {
    let names = match extractor.kind() {
        "RegexExtractor" => extractor.property("RegexExtractor.refname"),
        "BoundaryExtractor" => extractor.property("BoundaryExtractor.refname"),
        "HtmlExtractor" => extractor.property("HtmlExtractor.refname"),
        "JMESPathExtractor" => extractor.property("JMESExtractor.referenceName"),
        "JSONPathExtractor" => extractor.property("VAR"),
        "JSONPostProcessor" => extractor.property("JSONPostProcessor.referenceNames"),
        "XPathExtractor" => extractor.property("XPathExtractor.refname"),
        "XPath2Extractor" => extractor.property("XPathExtractor2.refname"),
        _ => "",
    };
    let names = names.split(';').map(str::trim);
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the names of the variables that an element sets while the plan runs.
pub(super) fn sets(element: JmeterElement<'_>) -> Vec<&str> {
    match element.kind() {
        "CSVDataSet" => {
            let delimiter = given(element.property("delimiter"), ",");
            let names = element.property("variableNames");
            let by = if names.contains(delimiter) {
                delimiter
            } else {
                ","
            };
            names
                .split(by)
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .collect()
        }
        "CounterConfig" => vec![element.property("CounterConfig.name").trim()],
        "RandomVariableConfig" => vec![element.property("variableName").trim()],
        "ForeachController" => vec![element.property("ForeachController.returnVal").trim()],
        _ => extracted(element),
    }
}

/// Returns a pattern of which only the group of that number is one; 0 is the whole pattern.
fn only_group(pattern: &str, group: usize) -> Option<String> {
    let mut text = String::new();
    let mut chars = pattern.chars().peekable();
    let (mut number, mut in_class) = (0, false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                text.push(c);
                text.extend(chars.next());
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class && chars.peek() != Some(&'?') => {
                number += 1;
                text.push_str(if number == group { "(" } else { "(?:" });
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
    match group {
        0 => Some(format!("({text})")),
        group => (group <= number).then_some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_group_of_a_pattern_stays_one() {
        for (pattern, group, only) in [
            ("a(.)", 1, Some("a(.)")),
            ("(a)(b)", 2, Some("(?:a)(b)")),
            ("(?:x)([(]y)\\(", 1, Some("(?:x)([(]y)\\(")),
            ("a(.)b", 0, Some("(a(?:.)b)")),
            ("a", 1, None),
        ] {
            assert_eq!(only_group(pattern, group).as_deref(), only, "{pattern}");
        }
    }
}
