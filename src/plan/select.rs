//! Which scenarios of a plan run: those that `--scenario` names.

use super::Plan;
use crate::error::{Diagnostic, nearest};

impl Plan {
    /// Keeps the scenarios that fit one of the names, in which `*` stands for any text; all if there is none.
    ///
    /// # Errors
    /// A name that no scenario fits, with the nearest one and all there are.
    pub fn keep_scenarios(&mut self, names: &[String]) -> Result<(), Diagnostic> {
        let known: Vec<&str> = self.scenarios.iter().map(|s| &*s.name).collect();
        for name in names {
            if !known.iter().any(|scenario| fits(name, scenario)) {
                let near = nearest(name, known.iter().copied());
                let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
                let message = format!("no scenario is named '{name}' ('--scenario')");
                let all = format!("{hint}scenarios of this plan: {}", known.join(", "));
                return Err(Diagnostic::new(message).help(all));
            }
        }
        if !names.is_empty() {
            self.scenarios
                .retain(|scenario| names.iter().any(|name| fits(name, &scenario.name)));
        }
        Ok(())
    }
}

/// Whether a name is what a pattern says. Every part between stars must follow the one before it; taking the
/// first place that fits is enough, as the last part is held against the end.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Order, Scenario, Wait};

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, fit) in [
            ("visitor", "visitor", true),
            ("visitor", "visitors", false),
            ("*", "visitor", true),
            ("*", "", true),
            ("visi*", "visitor", true),
            ("*tor", "visitor", true),
            ("v*t*r", "visitor", true),
            ("v*x*r", "visitor", false),
            ("*visitor*", "visitor", true),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("a**b", "ab", true),
            ("Auth*", "AnonAuth", false),
        ] {
            assert_eq!(fits(pattern, name), fit, "'{pattern}' and '{name}'");
        }
    }

    fn plan() -> Plan {
        let scenario = |name: &str| Scenario {
            name: name.to_owned(),
            weight: 1,
            users: None,
            host: None,
            order: Order::default(),
            wait: Wait::None,
            tasks: Vec::new(),
        };
        Plan {
            events: Vec::new(),
            scenarios: ["visitor", "member", "admin"].map(scenario).into(),
        }
    }

    #[test]
    fn the_named_scenarios_stay_in_the_order_of_the_plan() {
        let mut plan = plan();
        let names = ["a*", "visitor"].map(str::to_owned);
        assert_eq!(plan.keep_scenarios(&names), Ok(()));
        let kept: Vec<&str> = plan.scenarios.iter().map(|s| &*s.name).collect();
        assert_eq!(kept, ["visitor", "admin"]);
    }

    #[test]
    fn a_name_that_fits_none_is_told_with_the_nearest() {
        let told = plan()
            .keep_scenarios(&["visitr".to_owned()])
            .expect_err("there is none")
            .to_string();
        for words in [
            "'visitr'",
            "did you mean 'visitor'?",
            "visitor, member, admin",
        ] {
            assert!(told.contains(words), "{told}");
        }
    }
}
