//! Paths into JSON values, such as `data.items[0].id` and `users[*].name`.
//!
//! The syntax is the part of JSONPath (RFC 9535) that leads to known places: names, `[0]`, `[-1]`, `[*]`, quoted names and
//! a `$` at the start. Beside it, `items.1` counts from 1, as Lua does.

use crate::values::shorten;

/// The largest distance from the end of a list in a path, since so many elements are kept while it is read.
const MOST_FROM_END: i64 = 100;
/// The most steps of a path.
const MOST_STEPS: usize = 100;

/// A path into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath(Vec<PathStep>);

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// The member with that name; of a list, the element with that number, from 1.
    Member(String),
    /// The element with that number, from 0, or from the end if it is negative.
    Element(i64),
    /// All elements.
    All,
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// The problem with it.
    pub(crate) fn read(text: &str) -> Result<JsonPath, String> {
        let fault = |what: &str| format!("the path '{}': {what}", shorten(text));
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if steps.len() == MOST_STEPS {
                return Err(fault("it has more than 100 steps"));
            }
            if let Some(inside) = rest.strip_prefix('[') {
                let (step, after) = bracket(inside).map_err(fault)?;
                steps.push(step);
                rest = after;
                continue;
            }
            let name = match rest.strip_prefix('.') {
                Some(name) => name,
                None if steps.is_empty() && rest.len() == text.len() => rest,
                None => return Err(fault("a '.' or a '[' is missing after a ']'")),
            };
            let end = name.find(['.', '[']).unwrap_or(name.len());
            match &name[..end] {
                "" if name.starts_with('.') => {
                    return Err(fault(
                        "'..' does not search: name each step, as in 'data.items'",
                    ));
                }
                "" => return Err(fault("a name is missing")),
                "*" => steps.push(PathStep::All),
                name => steps.push(PathStep::Member(name.to_owned())),
            }
            rest = &name[end..];
        }
        if steps.is_empty() {
            return Err(fault("it names nothing"));
        }
        Ok(JsonPath(steps))
    }

    /// Returns its steps.
    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Returns whether it leads to a list of values, however many there are.
    pub(crate) fn is_list(&self) -> bool {
        self.0.contains(&PathStep::All)
    }

    /// Returns the path whose steps are the names between the dots of a text, whatever is in them.
    pub(crate) fn of_names(text: &str) -> JsonPath {
        let names = text.split('.');
        JsonPath(
            names
                .map(|name| PathStep::Member(name.to_owned()))
                .collect(),
        )
    }

    /// Returns the memory that it takes, in bytes.
    pub(crate) fn heap_size(&self) -> usize {
        let names = self.0.iter().map(|step| match step {
            PathStep::Member(name) => name.len(),
            PathStep::Element(_) | PathStep::All => 0,
        });
        self.0.len() * size_of::<PathStep>() + names.sum::<usize>()
    }
}

impl PathStep {
    /// Returns the place, from 0, of the element that the step leads to in a list, if it counts from its beginning.
    pub(crate) fn place(&self) -> Option<usize> {
        match self {
            PathStep::Member(name) => place_of(name),
            PathStep::Element(number) => usize::try_from(*number).ok(),
            PathStep::All => None,
        }
    }

    /// Returns the place from the end of a list, of which the last is 1, if the step counts from there.
    pub(crate) fn place_from_end(&self) -> Option<usize> {
        match self {
            PathStep::Element(number) if *number < 0 => Some(number.unsigned_abs() as usize),
            _ => None,
        }
    }
}

/// Reads a step in brackets, from behind the first one; returns the text after the last one, too.
fn bracket(inside: &str) -> Result<(PathStep, &str), &'static str> {
    const KNOWN: &str = "in brackets stands a number, '*' or a name in quotes";
    if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let name = &inside[1..];
        let end = name.find(quote).ok_or("a quotation mark is missing")?;
        let after = name[end + 1..]
            .strip_prefix(']')
            .ok_or("a ']' is missing")?;
        return Ok((PathStep::Member(name[..end].to_owned()), after));
    }
    let (step, after) = inside.split_once(']').ok_or("a ']' is missing")?;
    let step = match step.trim() {
        "*" => PathStep::All,
        filter if filter.starts_with('?') => {
            return Err("conditions are not known: take the list with [*] and choose in Lua");
        }
        number => match number.parse() {
            Ok(number) if number < -MOST_FROM_END => {
                return Err("it counts from further than 100 before the end");
            }
            Ok(number) => PathStep::Element(number),
            Err(_) => return Err(KNOWN),
        },
    };
    Ok((step, after))
}

/// The methods of a visitor that follows paths through JSON: no path leads into a value that is no list and no object.
macro_rules! scalars_are_passed_over {
    () => {
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }

        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }

        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }

        fn visit_u64<E>(self, _: u64) -> Result<(), E> {
            Ok(())
        }

        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }

        fn visit_str<E>(self, _: &str) -> Result<(), E> {
            Ok(())
        }
    };
}
pub(crate) use scalars_are_passed_over;

/// Returns the place in a list that a name leads to: `items.1` is the first.
pub(crate) fn place_of(name: &str) -> Option<usize> {
    name.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_people_write_them() {
        let member = |name: &str| PathStep::Member(name.to_owned());
        for (text, steps) in [
            ("id", vec![member("id")]),
            (
                "data.items[0].id",
                vec![
                    member("data"),
                    member("items"),
                    PathStep::Element(0),
                    member("id"),
                ],
            ),
            ("$.a[-1]", vec![member("a"), PathStep::Element(-1)]),
            ("[2]", vec![PathStep::Element(2)]),
            ("$['a.b'][\"c]\"]", vec![member("a.b"), member("c]")]),
            ("a[*].b", vec![member("a"), PathStep::All, member("b")]),
            ("a.*", vec![member("a"), PathStep::All]),
            ("items.1", vec![member("items"), member("1")]),
        ] {
            assert_eq!(JsonPath::read(text), Ok(JsonPath(steps)), "{text}");
        }
        for (text, what) in [
            ("", "it names nothing"),
            ("$", "it names nothing"),
            ("a.", "a name is missing"),
            ("a..b", "'..' does not search"),
            ("a[", "a ']' is missing"),
            ("a[x]", "in brackets stands a number"),
            ("a['x]", "a quotation mark is missing"),
            ("a[0]b", "a '.' or a '[' is missing"),
            ("a[?(@.b)]", "choose in Lua"),
            ("a[-101]", "further than 100"),
        ] {
            let fault = JsonPath::read(text).expect_err(text);
            assert!(
                fault.contains(what) && fault.contains("the path"),
                "{text}: {fault}"
            );
        }
    }
}
