//! The models of the server: how long each takes, and whether it reasons.

use super::super::fields::{FormFields, number};
use std::time::Duration;

/// A model that requests can name.
#[derive(Debug)]
pub(super) struct DemoModel {
    pub(super) name: &'static str,
    /// The time to the first token of an empty prompt.
    first: Duration,
    /// The mean time between two tokens.
    gap: Duration,
    /// The number of tokens that it reasons before the text.
    pub(super) reasoning: u32,
}

pub(super) const MODELS: [DemoModel; 4] = [
    DemoModel::new("demo", [120, 20], 0),
    DemoModel::new("demo-fast", [30, 5], 0),
    DemoModel::new("demo-slow", [600, 60], 0),
    DemoModel::new("demo-reasoning", [120, 20], 24),
];

/// What each word of the prompt adds to the time to the first token.
const PREFILL: Duration = Duration::from_micros(50);

/// How long the tokens of one response take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenPace {
    pub(super) first: Duration,
    gap: Duration,
    /// Whether gaps are all the same.
    is_even: bool,
}

impl DemoModel {
    const fn new(name: &'static str, [first, gap]: [u64; 2], reasoning: u32) -> DemoModel {
        DemoModel {
            name,
            first: Duration::from_millis(first),
            gap: Duration::from_millis(gap),
            reasoning,
        }
    }

    /// Returns the model with that name.
    pub(super) fn find(name: &str) -> Option<&'static DemoModel> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// Returns the pace of a response to a prompt of so many words; `ttft` and `gap` of the query, in milliseconds, are
    /// kept to exactly.
    pub(super) fn pace(&self, prompt_tokens: u32, query: &str) -> TokenPace {
        let fields = FormFields::parse(query.as_bytes());
        let given = |name| number(fields.get(name)).map(|ms| Duration::from_millis(ms.into()));
        let (first, gap) = (given("ttft"), given("gap"));
        TokenPace {
            first: first.unwrap_or_else(|| self.first + PREFILL * prompt_tokens),
            gap: gap.unwrap_or(self.gap),
            is_even: gap.is_some(),
        }
    }
}

impl TokenPace {
    /// Returns the time between two tokens: up to a quarter more or less than the mean, as `chance` has it.
    pub(super) fn gap(&self, chance: u32) -> Duration {
        if self.is_even {
            return self.gap;
        }
        self.gap * (75 + chance % 51) / 100
    }

    /// Returns the time that so many tokens take.
    pub(super) fn whole(&self, tokens: u32) -> Duration {
        self.first + self.gap * tokens.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_sets_the_pace_and_a_prompt_takes_time() {
        let fast = DemoModel::find("demo-fast").expect("a model");
        let ms = Duration::from_millis;
        assert_eq!(fast.pace(0, "").first, ms(30));
        assert_eq!(fast.pace(1_000, "").first, ms(80));
        let exact = fast.pace(1_000, "ttft=200&gap=7");
        assert_eq!(
            (exact.first, exact.gap(3), exact.whole(11)),
            (ms(200), ms(7), ms(270))
        );
        let mean: Duration = (0..51).map(|chance| fast.pace(0, "").gap(chance)).sum();
        assert_eq!(mean / 51, ms(5));
        assert!(DemoModel::find("gpt").is_none());
    }
}
