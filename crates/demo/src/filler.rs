//! Filler text: sentences of a fixed vocabulary, the same in every run. Driven by the pages of the sites.

/// English words, all ASCII, so that a text can be cut at any byte.
pub(super) const ENGLISH: [&str; 48] = [
    "harbour",
    "lantern",
    "meadow",
    "copper",
    "winter",
    "orchard",
    "signal",
    "paper",
    "quiet",
    "garden",
    "bridge",
    "amber",
    "river",
    "granite",
    "sailor",
    "thistle",
    "morning",
    "velvet",
    "engine",
    "marble",
    "cedar",
    "window",
    "harvest",
    "silver",
    "compass",
    "pebble",
    "saffron",
    "valley",
    "kettle",
    "willow",
    "ribbon",
    "anchor",
    "follows",
    "carries",
    "remembers",
    "answers",
    "gathers",
    "passes",
    "keeps",
    "under",
    "beyond",
    "between",
    "without",
    "toward",
    "the",
    "a",
    "every",
    "another",
];
/// Spanish words, in the same way.
pub(super) const SPANISH: [&str; 40] = [
    "cocina", "horno", "aceite", "pan", "huerta", "sopa", "verano", "mesa", "harina", "tomate",
    "cebolla", "azafran", "mercado", "cuchara", "receta", "dulce", "salado", "fresco", "caliente",
    "familia", "tarde", "vino", "queso", "hierba", "naranja", "canela", "mezcla", "sirve",
    "reposa", "corta", "prueba", "lleva", "con", "sin", "para", "entre", "sobre", "la", "el",
    "cada",
];
/// The length of the text; articles are windows on it.
const LENGTH: usize = 64 << 10;

/// The text that all articles are cut from.
pub(super) struct FillerText(String);

impl FillerText {
    /// A text of these words, which are ASCII.
    pub(super) fn new(words: &[&str]) -> Self {
        let mut text = String::with_capacity(LENGTH + 32);
        let mut state = 1_u32;
        let mut starts_sentence = true;
        while text.len() < LENGTH {
            // Numerical Recipes' linear congruential generator: it has to provide variety, no more.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let word = words[(state >> 16) as usize % words.len()];
            if starts_sentence {
                text.push_str(&word[..1].to_ascii_uppercase());
                text.push_str(&word[1..]);
            } else {
                text.push_str(word);
            }
            starts_sentence = state >> 29 == 0;
            text.push_str(if starts_sentence { ". " } else { " " });
        }
        FillerText(text)
    }

    /// `length` bytes for article `nid`, from the start of a word on.
    pub(super) fn article(&self, nid: u32, length: usize) -> &str {
        let last = self.0.len() - length - 16;
        let near = nid as usize * 997 % last;
        let start = near + self.0[near..].find(' ').map_or(0, |space| space + 1);
        &self.0[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_differ_and_have_their_length() {
        let text = FillerText::new(&ENGLISH);
        for nid in [0, 1, 5, 9_999, 10_000, u32::MAX] {
            assert_eq!(text.article(nid, 2_000).len(), 2_000);
        }
        assert_ne!(text.article(5, 100), text.article(6, 100));
        assert_eq!(text.article(5, 100), text.article(5, 100));
    }
}
