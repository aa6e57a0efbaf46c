//! Texts that many requests share, as numbers: names, hosts, user agents. There is room for so many; others share one number.

use std::collections::HashMap;

/// The most different texts of one kind.
const MAX_TEXTS: usize = 2_000;

/// The text that stands for all beyond that.
const OTHER: &str = "(other)";

/// Texts with their numbers.
#[derive(Debug, Default)]
pub(crate) struct InternedTexts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl InternedTexts {
    /// Returns the number of a text.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text = if self.texts.len() < MAX_TEXTS {
            text
        } else {
            OTHER
        };
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(text.to_owned());
        }
        number
    }

    /// Returns the text of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or(OTHER, |text| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_the_room_share_a_number() {
        let mut texts = InternedTexts::default();
        let first = texts.number("0");
        for n in 0..MAX_TEXTS + 10 {
            texts.number(&n.to_string());
        }
        assert_eq!(texts.number("0"), first);
        let seven = texts.number("7");
        assert_eq!(texts.text(seven), "7");
        let other = texts.number("new");
        assert_eq!(other, texts.number("newer"));
        assert_eq!(texts.text(other), OTHER);
    }
}
