//! The models of the server: how long each takes, also beside other requests, and whether it reasons.

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

/// The most other requests that slow a model down.
const MAX_OTHERS: u32 = 100_000;

/// The time that each word of the prompt adds to the time to the first token.
const PREFILL: Duration = Duration::from_micros(50);

/// The times of the tokens of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenPace {
    first: TokenTime,
    gap: TokenTime,
}

/// A time before a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenTime {
    /// The pace of the model, which grows with the number of requests under way.
    OfModel(Duration),
    /// The pace in the request's query.
    Exact(Duration),
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
        let time = |name, of_model| match number(fields.get(name)) {
            Some(ms) => TokenTime::Exact(Duration::from_millis(ms.into())),
            None => TokenTime::OfModel(of_model),
        };
        TokenPace {
            first: time("ttft", self.first + PREFILL * prompt_tokens),
            gap: time("gap", self.gap),
        }
    }
}

impl TokenPace {
    /// Returns the time to the first token, beside so many other requests.
    pub(super) fn first(&self, others: u32) -> Duration {
        self.first.beside(others)
    }

    /// Returns the time between two tokens: up to a quarter more or less than the mean, as `chance` has it.
    pub(super) fn gap(&self, chance: u32, others: u32) -> Duration {
        match self.gap {
            TokenTime::Exact(gap) => gap,
            of_model @ TokenTime::OfModel(_) => of_model.beside(others) * (75 + chance % 51) / 100,
        }
    }

    /// Returns the time that so many tokens take.
    pub(super) fn whole(&self, tokens: u32, others: u32) -> Duration {
        self.first(others) + self.gap.beside(others) * tokens.saturating_sub(1)
    }
}

impl TokenTime {
    /// Each other request adds a fiftieth, as a batch that grows slows a model down.
    fn beside(self, others: u32) -> Duration {
        match self {
            TokenTime::OfModel(time) => time * (50 + others.min(MAX_OTHERS)) / 50,
            TokenTime::Exact(time) => time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_sets_the_pace_and_prompts_and_other_requests_take_time() {
        let fast = DemoModel::find("demo-fast").expect("a model");
        let ms = Duration::from_millis;
        assert_eq!(fast.pace(0, "").first(0), ms(30));
        assert_eq!(fast.pace(1_000, "").first(0), ms(80));
        assert_eq!(fast.pace(1_000, "").first(25), ms(120));
        let exact = fast.pace(1_000, "ttft=200&gap=7");
        assert_eq!((exact.first(9), exact.gap(3, 9)), (ms(200), ms(7)));
        assert_eq!(exact.whole(11, 9), ms(270));
        let mean = |others| {
            (0..51)
                .map(|chance| fast.pace(0, "").gap(chance, others))
                .sum::<Duration>()
                / 51
        };
        assert_eq!((mean(0), mean(50)), (ms(5), ms(10)));
        assert!(DemoModel::find("gpt").is_none());
    }
}
